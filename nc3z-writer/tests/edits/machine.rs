//! Runs operations on an archive and on its model.

use super::*;

pub(crate) struct Machine {
    pub(crate) path: std::path::PathBuf,
    pub(crate) options: WriterOptions,
    pub(crate) edit: Option<Edit>,
    /// The committed state; `model` also has the edits.
    pub(crate) committed: Model,
    pub(crate) model: Model,
    pub(crate) versions: Vec<(u64, Vec<u8>)>,
}

impl Machine {
    pub(crate) fn edit(&mut self) -> &mut Edit {
        let (path, options) = (&self.path, &self.options);
        self.edit.get_or_insert_with(|| Edit::open(path, options).unwrap())
    }

    /// Checks that both the archive and the model accept an edit, or both refuse it.
    pub(crate) fn both(
        &mut self,
        does: Option<Model>,
        edit: impl FnOnce(&mut Edit) -> nc3z_writer::Result<()>,
    ) {
        let done = edit(self.edit());
        assert_eq!(done.is_ok(), does.is_some(), "{done:?}");
        if let Some(next) = does {
            self.model = next;
        }
    }

    pub(crate) fn number(&self) -> u64 {
        self.versions.last().unwrap().0
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each operation")]
    pub(crate) fn run(&mut self, op: Op) {
        let mut next = self.model.clone();
        let vars = next.vars.len();
        match op {
            Op::Attribute(v, n, mut values) => {
                let at = v % (vars + 1);
                let name = format!("a{n}");
                let ty = [NcType::Char, NcType::Short, NcType::Double, NcType::Char][usize::from(n)];
                values.truncate(values.len() / ty.size() * ty.size());
                let (list, owner) = match at.checked_sub(1) {
                    None => (&mut next.attributes, None),
                    Some(v) => (&mut next.vars[v].attributes, Some(self.model.vars[v].name.clone())),
                };
                match list.iter_mut().find(|(a, ..)| *a == name) {
                    Some(there) => *there = (name.clone(), ty, values.clone()),
                    None => list.push((name.clone(), ty, values.clone())),
                }
                self.both(Some(next), |e| e.set_attribute(owner.as_deref(), &name, ty, &values));
            }
            Op::Delete(v, n) => {
                let at = v % (vars + 1);
                let name = format!("a{n}");
                let (list, owner) = match at.checked_sub(1) {
                    None => (&mut next.attributes, None),
                    Some(v) => (&mut next.vars[v].attributes, Some(self.model.vars[v].name.clone())),
                };
                let before = list.len();
                list.retain(|(a, ..)| *a != name);
                let does = (list.len() < before).then_some(next);
                self.both(does, |e| e.delete_attribute(owner.as_deref(), &name));
            }
            Op::RenameAttribute(v, a, b) => {
                let at = v % (vars + 1);
                let (old, new) = (format!("a{a}"), format!("a{b}"));
                let (list, owner) = match at.checked_sub(1) {
                    None => (&mut next.attributes, None),
                    Some(v) => (&mut next.vars[v].attributes, Some(self.model.vars[v].name.clone())),
                };
                let taken = old != new && list.iter().any(|(n, ..)| *n == new);
                let found = list.iter_mut().find(|(n, ..)| *n == old).map(|a| a.0.clone_from(&new));
                let does = (found.is_some() && !taken).then_some(next);
                self.both(does, |e| e.rename_attribute(owner.as_deref(), &old, &new));
            }
            Op::RenameVariable(v, n) => {
                let Some(at) = v.checked_rem(vars) else { return };
                let (old, new) = (next.vars[at].name.clone(), format!("v{n}"));
                let taken = old != new && next.vars.iter().any(|v| v.name == new);
                next.vars[at].name.clone_from(&new);
                self.both((!taken).then_some(next), |e| e.rename_variable(&old, &new));
            }
            Op::RenameDimension(d, n) => {
                let at = d % next.dims.len();
                let (old, new) = (next.dims[at].0.clone(), format!("d{n}"));
                let taken = old != new && next.dims.iter().any(|(name, _)| *name == new);
                next.dims[at].0.clone_from(&new);
                for dim in next.vars.iter_mut().flat_map(|v| &mut v.dims).filter(|d| **d == old) {
                    dim.clone_from(&new);
                }
                self.both((!taken).then_some(next), |e| e.rename_dimension(&old, &new));
            }
            Op::AddDimension(n, len) => {
                let name = format!("d{n}");
                let taken = next.dims.iter().any(|(d, l)| *d == name || (*l == 0 && len == 0));
                next.dims.push((name.clone(), len));
                self.both((!taken).then_some(next), |e| e.add_dimension(&name, len));
            }
            Op::AddVariable(n, t, dims) => {
                let (name, ty) = (format!("v{n}"), NcType::ALL[t]);
                let dims: Vec<String> =
                    dims.iter().map(|d| next.dims[d % next.dims.len()].0.clone()).collect();
                let inner = dims.iter().skip(1).any(|d| next.dims.iter().any(|(n, l)| n == d && *l == 0));
                let fits = !ty.needs_cdf5() || next.version == Version::Cdf5;
                let taken = next.vars.iter().any(|v| v.name == name);
                let mut var =
                    Var { name: name.clone(), ty, dims: dims.clone(), attributes: vec![], values: vec![] };
                let len = usize::try_from(next.shape(&var).iter().product::<u64>()).unwrap();
                var.values = ty.default_fill().repeat(len);
                next.vars.push(var);
                let names: Vec<&str> = dims.iter().map(String::as_str).collect();
                let does = (fits && !inner && !taken).then_some(next);
                self.both(does, |e| e.add_variable(&name, ty, &names));
            }
            Op::DeleteVariable(v) => {
                if vars < 3 {
                    return;
                }
                let name = next.vars.remove(v % vars).name;
                self.both(Some(next), |e| e.delete_variable(&name));
            }
            Op::Records(n) => {
                let name = next.dims.iter().find(|(_, len)| *len == 0).unwrap().0.clone();
                next.numrecs = n;
                next.resize(&self.model);
                self.both(Some(next), |e| e.resize_dimension(&name, n));
            }
            Op::Resize(d, len) => {
                let at = d % next.dims.len();
                let name = next.dims[at].0.clone();
                if next.dims[at].1 == 0 {
                    return;
                }
                next.dims[at].1 = len;
                let does = (len > 0).then(|| {
                    next.resize(&self.model);
                    next
                });
                self.both(does, |e| e.resize_dimension(&name, len));
            }
            Op::Set(v, picks, one, value) => {
                let Some(at) = v.checked_rem(vars) else { return };
                let shape = next.shape(&next.vars[at]);
                let (name, size) = (next.vars[at].name.clone(), next.vars[at].ty.size());
                let Some((slab, places)) = selected(&shape, &picks) else {
                    let slab = Hyperslab::all(&shape);
                    return self.both(Some(next), |e| e.set(&name, &slab, &[]));
                };
                let count = if one { 1 } else { places.len() };
                let values: Vec<u8> =
                    (0..count * size).map(|i| value.wrapping_add(i.to_le_bytes()[0])).collect();
                let mut before = Vec::new();
                for (n, place) in places.iter().enumerate() {
                    let from = if one { 0 } else { n * size };
                    let cell = &mut next.vars[at].values[place * size..][..size];
                    before.extend_from_slice(cell);
                    cell.copy_from_slice(&values[from..from + size]);
                }
                assert_eq!(self.edit().get(&name, &slab).unwrap(), before);
                self.both(Some(next), |e| e.set(&name, &slab, &values));
            }
            Op::Append(count, value) => {
                let mut more = self.model.clone();
                more.numrecs = count;
                for v in 0..vars {
                    if more.is_record(&more.vars[v]) {
                        let len = usize::try_from(more.shape(&more.vars[v]).iter().product::<u64>()).unwrap();
                        more.vars[v].values = vec![value; len * more.vars[v].ty.size()];
                        next.vars[v].values.extend_from_slice(&more.vars[v].values);
                    }
                }
                next.numrecs += count;
                let source: SharedSource = Arc::new(MemorySource::new(more.file()));
                let dataset = Dataset::from_source(source, &OpenOptions::default()).unwrap();
                let policy = AppendPolicy {
                    keep_fixed: value % 2 == 0,
                    overlap: Overlap::Allow,
                    ..AppendPolicy::default()
                };
                let records = next.vars.iter().any(|v| next.is_record(v));
                // A fixed variable that was changed in this edit is not compared.
                self.both(records.then_some(next), |e| e.append_records(&dataset, policy, &()).map(drop));
            }
            Op::Kind(five) => {
                let version = if five { Version::Cdf5 } else { Version::Cdf1 };
                next.version = version;
                let fits = five || next.vars.iter().all(|v| !v.ty.needs_cdf5());
                self.both(fits.then_some(next), |e| e.set_kind(version));
            }
            Op::Commit(digest) => {
                let Some(edit) = self.edit.take() else { return };
                let mut edit = edit.with_digest(digest);
                let done = edit.commit(&CommitNote::default(), &()).unwrap();
                let file = self.model.file();
                if self.versions.last().unwrap().1 == file {
                    assert_eq!(done.version, self.number(), "nothing changed");
                } else {
                    assert_eq!(done.version, self.number() + 1);
                    if digest {
                        assert_eq!(done.sha256, sha(&file));
                    }
                    self.versions.push((done.version, file));
                }
                self.committed = self.model.clone();
                check(&self.path, &self.versions);
                // The edit goes on with the next step.
                self.edit = Some(edit);
            }
            Op::Abandon => {
                self.edit = None;
                self.model = self.committed.clone();
            }
            Op::Foreign(value) => {
                self.run(Op::Abandon);
                next = self.model.clone();
                if let Some(byte) = next.vars[0].values.first_mut() {
                    *byte = value;
                }
                let file = next.file();
                let edited = self.path.with_extension("edited.nc");
                std::fs::write(&edited, &file).unwrap();
                let done =
                    commit_file(&self.path, &edited, &CommitNote::default(), &self.options, &()).unwrap();
                if self.versions.last().unwrap().1 != file {
                    self.versions.push((done.version, file));
                }
                (self.model, self.committed) = (next.clone(), next);
                check(&self.path, &self.versions);
            }
            Op::Collect(keep) => {
                self.run(Op::Abandon);
                let last = self.number();
                self.versions.retain(|(n, _)| *n == last || keep >> (n % 8) & 1 == 1);
                let names: Vec<VersionName> =
                    self.versions.iter().map(|(n, _)| VersionName::Number(*n)).collect();
                collect_file(&self.path, None, &Keep { versions: &names, tagged: false }, &self.options, &())
                    .unwrap();
                check(&self.path, &self.versions);
            }
            Op::Cut(n, patched) => {
                // A commit that was killed at any byte leaves the old state.
                self.run(Op::Abandon);
                let before = std::fs::read(&self.path).unwrap();
                self.set_number("cut", n);
                let after = std::fs::read(&self.path).unwrap();
                if !after.starts_with(&before) {
                    // The archive was converted to the long form.
                    return std::fs::write(&self.path, &before).unwrap();
                }
                let len = before.len() + usize::from(n) % (after.len() - before.len());
                let mut torn = after[..len].to_vec();
                if !patched && len >= before.len() + 52 {
                    // The archive's length is the last but one field to be written.
                    torn[before.len() + 44..before.len() + 52].fill(0);
                }
                std::fs::write(&self.path, &torn).unwrap();
                check_or_refused(&self.path, &self.versions);
                if Archive::open(&self.path).is_err() {
                    return std::fs::write(&self.path, &before).unwrap();
                }
                // The next commit replaces the unfinished one.
                self.set_number("after", n);
                let values = n.to_be_bytes().to_vec();
                let attributes = &mut self.model.vars[0].attributes;
                attributes.retain(|(name, ..)| name != "after");
                attributes.push(("after".to_owned(), NcType::Short, values));
                let number = self.number() + 1;
                if self.model != self.committed {
                    self.versions.push((number, self.model.file()));
                }
                self.committed = self.model.clone();
                check(&self.path, &self.versions);
            }
            Op::Second => {
                // There is one writer at a time, and readers do not wait.
                let edited = self.path.with_extension("second.nc");
                std::fs::write(&edited, self.model.file()).unwrap();
                self.edit();
                let before = std::fs::read(&self.path).unwrap();
                let (path, options) = (&self.path, &self.options);
                assert!(Edit::open(path, options).is_err());
                assert!(commit_file(path, &edited, &CommitNote::default(), options, &()).is_err());
                assert!(collect_file(path, None, &Keep::default(), options, &()).is_err());
                assert!(std::fs::read(path).unwrap() == before);
                check(path, &self.versions);
            }
        }
    }

    /// Commits an attribute of the first variable, a number. An existing attribute keeps its position.
    pub(crate) fn set_number(&mut self, name: &str, n: u16) {
        let variable = self.model.vars[0].name.clone();
        let mut edit = Edit::open(&self.path, &self.options).unwrap();
        if name == "after" {
            // The model puts it at the end.
            let _ = edit.delete_attribute(Some(&variable), name);
        }
        edit.set_attribute(Some(&variable), name, NcType::Short, &n.to_be_bytes()).unwrap();
        edit.commit(&CommitNote::default(), &()).unwrap();
    }
}

/// A cut is reported, or the cut part was not committed. No older state is shown as the newest.
pub(crate) fn check_or_refused(path: &Path, versions: &[(u64, Vec<u8>)]) {
    if let Ok(archive) = Archive::open(path) {
        assert_eq!(archive.version().unwrap().number, versions.last().unwrap().0);
        check(path, versions);
    }
}
