"""Additions that mkdocs.yml cannot express: the design notes by number, the live reader, and links that lead out of the pages into the code."""

import logging
import posixpath
import re
from pathlib import Path

from mkdocs.structure.nav import Link

ROOT = Path(__file__).resolve().parent.parent
LOG = logging.getLogger("mkdocs.plugins.site")
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)#\s]+)(#[^)]*)?\)")


def on_config(config):
    """Every note must be in the index of the notes, once."""
    index = Path(config.docs_dir, "docs/design/README.md")
    notes = [index, *sorted(Path(config.docs_dir, "docs/design").glob("0*.md"))]
    listed = re.findall(r"^\| \[\d+\]\(([^)]+)\) \|", index.read_text("utf-8"), re.M)
    if sorted(listed) != [note.name for note in notes[1:]]:
        LOG.warning("docs/design/README.md must list each note once: %s", sorted({note.name for note in notes[1:]} ^ set(listed)))
    config.nav.append({"Decisions": [note.relative_to(config.docs_dir).as_posix() for note in notes]})
    return config


def on_nav(nav, config, files):
    """The page that reads archives is in the navigation if scripts/site.sh --reader made it."""
    if files.get_file_from_path("reader/index.html"):
        nav.items.append(Link("Try it", "reader/index.html"))
    return nav


def on_page_markdown(markdown, page, config, files):
    """A file that is not a page is named, not linked; a missing file is an error of the build."""
    source = "README.md" if page.file.src_uri == "index.md" else page.file.src_uri

    def named(found):
        text, link, anchor = found[1], found[2], found[3] or ""
        if "://" in link or link.startswith("mailto:"):
            return found[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), link))
        if path == "README.md":
            home = posixpath.relpath("index.md", posixpath.dirname(source) or ".")
            return f"[{text}]({home}{anchor})"
        if files.get_file_from_path(path):
            return found[0]
        if not (ROOT / path).exists():
            LOG.warning("%s: the link to %s leads nowhere", source, link)
        return text if path in text or path.rsplit("/", 1)[-1] in text else f"{text} (`{path}`)"

    parts = re.split(r"(^```.*?^```$)", markdown, flags=re.S | re.M)
    return "".join(part if part.startswith("```") else LINK.sub(named, part) for part in parts)
