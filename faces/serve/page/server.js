// What the server is asked.

export async function json(path) {
  const reply = await fetch(path, { headers: { Accept: "application/json" } });
  if (!reply.ok) throw new Error((await reply.text()).trim());
  return reply.json();
}

/** The values of a part of a variable as doubles: `parts` has an index, or [first, stride, last], for each dimension. */
export async function numbers(path, name, parts) {
  const words = parts.map((p) => (Array.isArray(p) ? `[${p.join(":")}]` : `[${p}]`)).join("");
  const reply = await fetch(`${path}.f64?${encodeURIComponent(query_name(name) + words)}`);
  if (!reply.ok) throw new Error((await reply.text()).trim());
  return new Float64Array(await reply.arrayBuffer());
}

/** A name in a constraint expression. */
export const query_name = (name) =>
  [...new TextEncoder().encode(name)].map((b) => (/[\w.!~*+-]/.test(String.fromCharCode(b)) && b < 128 ? String.fromCharCode(b) : "%" + b.toString(16).padStart(2, "0").toUpperCase())).join("");
