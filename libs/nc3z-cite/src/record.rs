//! Makes records that cite a dataset, a version of it, or a slice: BibTeX, DataCite 4.5, RO-Crate 1.1,
//! PROV-JSON.
//!
//! A record contains only what the caller gives: no clock, host or account is read.

use nc3z_format::digest::Root;
use serde_json::{Map, Value, json};

/// The form of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// An entry of a BibTeX file.
    BibTex,
    /// Metadata of DataCite 4.5, as its REST API takes them.
    DataCite,
    /// `ro-crate-metadata.json` of RO-Crate 1.1.
    RoCrate,
    /// PROV-JSON.
    Prov,
}

/// The identity of a version of an archive.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VersionIdentity {
    /// The number of the version.
    pub number: u64,
    /// The message of the version.
    pub message: Option<String>,
    /// The author of the commit.
    pub author: Option<String>,
    /// The time of the commit, as its author gave it.
    pub time: Option<String>,
}

/// The content of a record.
#[derive(Debug, Clone, PartialEq)]
pub struct Citation {
    /// Title of the dataset.
    pub title: String,
    /// The creators of the dataset.
    pub creators: Vec<String>,
    /// The publisher of the dataset.
    pub publisher: Option<String>,
    /// The year of its publication, as four digits.
    pub year: Option<String>,
    /// The root of the citation.
    pub root: Root,
    /// The file or URL that was read.
    pub source: String,
    /// The version of the archive, if it is one.
    pub version: Option<VersionIdentity>,
    /// DOI of the dataset, without a resolver.
    pub doi: Option<String>,
    /// The URL where the dataset or its root is published.
    pub url: Option<String>,
    /// The slice: its file, and its variables with their hyperslabs.
    pub slice: Option<(String, Vec<String>)>,
    /// The program and its version.
    pub tool: String,
    /// The command of the citation.
    pub command: String,
}

impl Citation {
    /// Returns the record in one form. JSON is indented.
    pub fn render(&self, format: Format) -> String {
        let value = match format {
            Format::BibTex => return self.bibtex(),
            Format::DataCite => self.datacite(),
            Format::RoCrate => self.ro_crate(),
            Format::Prov => self.prov(),
        };
        format!("{value:#}\n")
    }

    /// Returns the statements of a proof about its source (`about`), which it does not prove.
    pub fn about(&self) -> Map<String, Value> {
        let mut about = Map::new();
        let mut put = |key: &str, value: Value| {
            if !value.is_null() {
                about.insert(key.to_owned(), value);
            }
        };
        put("title", self.title.clone().into());
        put("source", self.source.clone().into());
        put("version", self.version.as_ref().map_or(Value::Null, VersionIdentity::json));
        put("doi", self.doi.clone().into());
        put("url", self.url.clone().into());
        put("tool", self.tool.clone().into());
        put("command", self.command.clone().into());
        about
    }

    fn part(&self) -> Option<String> {
        self.slice.as_ref().map(|(_, variables)| variables.join("; "))
    }

    fn identifier(&self) -> Option<String> {
        self.doi.as_ref().map(|doi| format!("https://doi.org/{doi}")).or_else(|| self.url.clone())
    }

    fn bibtex(&self) -> String {
        let mut fields = vec![("title", format!("{{{}}}", tex(&self.title)))];
        if !self.creators.is_empty() {
            let names: Vec<String> = self.creators.iter().map(|name| format!("{{{}}}", tex(name))).collect();
            fields.push(("author", names.join(" and ")));
        }
        fields.extend(self.publisher.as_ref().map(|name| ("publisher", tex(name))));
        fields.extend(self.year.as_ref().map(|year| ("year", tex(year))));
        fields.extend(self.version.as_ref().map(|version| ("version", version.number.to_string())));
        fields.extend(self.doi.as_ref().map(|doi| ("doi", tex(doi))));
        fields.extend(self.url.as_ref().map(|url| ("url", tex(url))));
        let part = self.part().map_or(String::new(), |part| format!("; slice {}", tex(&part)));
        fields.push(("note", format!("root {}{part}", self.root)));
        let key: String = self.root.to_string().chars().skip(6).take(12).collect();
        let lines =
            fields.iter().fold(String::new(), |out, (name, value)| format!("{out}  {name} = {{{value}}},\n"));
        format!("@misc{{nc3z-{key},\n{lines}}}\n")
    }

    fn datacite(&self) -> Value {
        let creators = self.creators.iter().map(|name| json!({"name": name}));
        let mut record = json!({
            "schemaVersion": "http://datacite.org/schema/kernel-4",
            "types": {"resourceTypeGeneral": "Dataset", "resourceType": if self.slice.is_some() { "netCDF slice" } else { "netCDF" }},
            "titles": [{"title": self.title}],
            "creators": creators.collect::<Vec<_>>(),
            "alternateIdentifiers": [{"alternateIdentifier": self.root.to_string(), "alternateIdentifierType": "nc3z root"}],
            "formats": ["application/netcdf"],
            "descriptions": [{"description": self.made(), "descriptionType": "TechnicalInfo"}],
        });
        let object = record.as_object_mut().expect("an object was made");
        let mut put =
            |key: &str, value: Option<Value>| value.map(|value| object.insert(key.to_owned(), value));
        put("publisher", self.publisher.as_ref().map(|name| json!({"name": name})));
        put(
            "publicationYear",
            self.year.as_ref().map(|year| year.parse::<u32>().map_or(json!(year), |y| json!(y))),
        );
        put("version", self.version.as_ref().map(|version| json!(version.number.to_string())));
        if self.slice.is_none() {
            put("doi", self.doi.as_ref().map(|doi| json!(doi)));
            put("url", self.url.as_ref().map(|url| json!(url)));
            return record;
        }
        // A slice is a part of the identified dataset.
        let whole = |id: &String, kind| json!({"relatedIdentifier": id, "relatedIdentifierType": kind, "relationType": "IsPartOf"});
        let related: Vec<Value> = self
            .doi
            .iter()
            .map(|doi| whole(doi, "DOI"))
            .chain(self.url.iter().map(|url| whole(url, "URL")))
            .collect();
        put("relatedIdentifiers", (!related.is_empty()).then(|| related.into()));
        record
    }

    /// Describes how the slice was made.
    fn made(&self) -> String {
        let part = self.part().map_or(String::new(), |part| format!("Slice {part} of "));
        let version = self.version.as_ref().map_or(String::new(), VersionIdentity::words);
        format!("{part}{}{version}, root {}, by {}: {}", self.source, self.root, self.tool, self.command)
    }

    fn ro_crate(&self) -> Value {
        let people: Vec<Value> = self.creators.iter().map(|name| json!({"@id": person(name)})).collect();
        let source = json!({
            "@id": self.identifier().unwrap_or_else(|| file(&self.source)), "@type": "File", "name": self.title,
            "encodingFormat": "application/netcdf", "identifier": {"@id": "#root"},
            "version": self.version.as_ref().map(|version| version.number.to_string()),
        });
        let mut parts = vec![json!({"@id": source["@id"]})];
        let mut graph = vec![
            json!({"@id": "#root", "@type": "PropertyValue", "propertyID": "nc3z root", "value": self.root.to_string()}),
            json!({"@id": "#nc3z", "@type": "SoftwareApplication", "name": self.tool}),
        ];
        if let Some((name, variables)) = &self.slice {
            let (slice, proof) = (file(name), format!("{}.proof", file(name)));
            parts.extend([json!({"@id": slice}), json!({"@id": proof})]);
            graph.extend([
                json!({"@id": slice, "@type": "File", "name": variables.join("; "), "isPartOf": {"@id": source["@id"]}}),
                json!({"@id": proof, "@type": "File", "encodingFormat": "application/json", "about": {"@id": slice}}),
                json!({
                    "@id": "#cite", "@type": "CreateAction", "name": self.command, "instrument": {"@id": "#nc3z"},
                    "object": {"@id": source["@id"]}, "result": [{"@id": slice}, {"@id": proof}],
                }),
            ]);
        }
        if let Some(version) = &self.version {
            graph.push(json!({
                "@id": "#version", "@type": "UpdateAction", "name": version.message, "endTime": version.time,
                "agent": version.author.as_ref().map(|name| json!({"@id": person(name)})), "result": {"@id": source["@id"]},
            }));
        }
        let authors = self.version.iter().filter_map(|version| version.author.as_ref());
        let mut names: Vec<&String> = self.creators.iter().chain(authors).collect();
        names.dedup();
        graph.extend(names.iter().map(|name| json!({"@id": person(name), "@type": "Person", "name": name})));
        let crate_itself = json!({
            "@id": "./", "@type": "Dataset", "name": self.title, "description": self.made(), "hasPart": parts,
            "author": people, "datePublished": self.year, "publisher": self.publisher,
        });
        let descriptor = json!({
            "@id": "ro-crate-metadata.json", "@type": "CreativeWork", "about": {"@id": "./"},
            "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"},
        });
        let graph = [descriptor, crate_itself, source].into_iter().chain(graph).map(without_null);
        json!({"@context": "https://w3id.org/ro/crate/1.1/context", "@graph": graph.collect::<Vec<_>>()})
    }

    fn prov(&self) -> Value {
        let version = self.version.as_ref();
        let source = without_null(json!({
            "prov:type": "nc3z:Dataset", "prov:label": self.title, "prov:location": self.source, "nc3z:root": self.root.to_string(),
            "nc3z:doi": self.doi, "nc3z:url": self.url, "nc3z:version": version.map(|v| v.number),
            "nc3z:message": version.and_then(|v| v.message.clone()), "nc3z:committed": version.and_then(|v| v.time.clone()),
        }));
        let mut entities = Map::from_iter([("nc3z:source".to_owned(), source)]);
        let mut agents = Map::from_iter([(
            "nc3z:tool".to_owned(),
            json!({"prov:type": "prov:SoftwareAgent", "prov:label": self.tool}),
        )]);
        let mut record = json!({"prefix": {"nc3z": "urn:nc3z:", "prov": "http://www.w3.org/ns/prov#"}});
        let object = record.as_object_mut().expect("an object was made");
        let author = version.and_then(|v| v.author.as_ref()).or_else(|| self.creators.first());
        if let Some(author) = author {
            agents
                .insert("nc3z:author".to_owned(), json!({"prov:type": "prov:Person", "prov:label": author}));
            let attributed =
                json!({"_:attribution": {"prov:entity": "nc3z:source", "prov:agent": "nc3z:author"}});
            object.insert("wasAttributedTo".to_owned(), attributed);
        }
        if let Some((name, variables)) = &self.slice {
            entities.insert(
                "nc3z:slice".to_owned(),
                json!({"prov:type": "nc3z:Slice", "prov:location": name, "prov:label": variables.join("; "),
                       "nc3z:proof": format!("{name}.proof")}),
            );
            let all = json!({
                "activity": {"nc3z:cite": {"prov:type": "nc3z:Cite", "nc3z:command": self.command}},
                "used": {"_:used": {"prov:activity": "nc3z:cite", "prov:entity": "nc3z:source"}},
                "wasGeneratedBy": {"_:generation": {"prov:entity": "nc3z:slice", "prov:activity": "nc3z:cite"}},
                "wasDerivedFrom": {"_:derivation": {"prov:generatedEntity": "nc3z:slice", "prov:usedEntity": "nc3z:source"}},
                "wasAssociatedWith": {"_:association": {"prov:activity": "nc3z:cite", "prov:agent": "nc3z:tool"}},
            });
            object.extend(all.as_object().expect("an object was made").clone());
        }
        object.insert("entity".to_owned(), entities.into());
        object.insert("agent".to_owned(), agents.into());
        record
    }
}

impl VersionIdentity {
    fn json(&self) -> Value {
        without_null(json!({
            "number": self.number, "message": self.message, "author": self.author, "time": self.time,
        }))
    }

    /// Describes the version: `, version 3 ("corrected units", A. Author)`.
    fn words(&self) -> String {
        let said: Vec<String> = self
            .message
            .iter()
            .map(|message| format!("\"{message}\""))
            .chain(self.author.clone())
            .chain(self.time.clone())
            .collect();
        let said = if said.is_empty() { String::new() } else { format!(" ({})", said.join(", ")) };
        format!(", version {}{said}", self.number)
    }
}

/// Removes keys with unknown values from an object.
fn without_null(mut value: Value) -> Value {
    if let Some(object) = value.as_object_mut() {
        object.retain(|_, value| !value.is_null() && value.as_array().is_none_or(|all| !all.is_empty()));
    }
    value
}

/// Returns the identifier of a person in a crate.
fn person(name: &str) -> String {
    format!("#{}", escaped(name, false))
}

/// Returns the identifier of a file in a crate: its name, encoded for URLs.
fn file(path: &str) -> String {
    if path.contains("://") { path.to_owned() } else { escaped(path, true) }
}

fn escaped(text: &str, slashes: bool) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.~".contains(&b) || (slashes && b == b'/');
    text.bytes().fold(String::new(), |out, b| {
        if plain(b) { format!("{out}{}", char::from(b)) } else { format!("{out}%{b:02X}") }
    })
}

fn tex(text: &str) -> String {
    text.chars().fold(String::new(), |mut out, c| {
        match c {
            '\\' => out.push_str("\\textbackslash{}"),
            '~' => out.push_str("\\textasciitilde{}"),
            '^' => out.push_str("\\textasciicircum{}"),
            '{' | '}' | '%' | '&' | '#' | '_' | '$' => out.extend(['\\', c]),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn citation(slice: bool) -> Citation {
        let version = VersionIdentity {
            number: 3,
            message: Some("units: 100% K".to_owned()),
            author: Some("A. Author".to_owned()),
            time: None,
        };
        Citation {
            title: "Air {temperature}".to_owned(),
            creators: vec!["Institute & Co".to_owned()],
            publisher: None,
            year: Some("2026".to_owned()),
            root: Root([0xAB; 32]),
            source: "tas 1.nc.nc3z".to_owned(),
            version: Some(version),
            doi: Some("10.5281/zenodo.1".to_owned()),
            url: None,
            slice: slice.then(|| ("out.nc".to_owned(), vec!["float tas(time=0..9 of 12)".to_owned()])),
            tool: "nc3z 0.1.0".to_owned(),
            command: "nc3z cite tas.nc.nc3z tas -o out.nc".to_owned(),
        }
    }

    #[test]
    fn bibtex_escapes_what_tex_obeys() {
        let text = citation(true).render(Format::BibTex);
        assert!(
            text.starts_with("@misc{nc3z-abababababab,\n  title = {{Air \\{temperature\\}}},\n"),
            "{text}"
        );
        assert!(text.contains("author = {{Institute \\& Co}}") && text.contains("version = {3}"), "{text}");
        assert!(text.contains("note = {root nc3z1:abab") && text.ends_with("}\n"), "{text}");
    }

    #[test]
    fn json_records_name_root_source_and_command() {
        for format in [Format::DataCite, Format::RoCrate, Format::Prov] {
            for slice in [true, false] {
                let text = citation(slice).render(format);
                let value: Value = serde_json::from_str(&text).unwrap();
                assert!(value.is_object());
                for part in [Root([0xAB; 32]).to_string().as_str(), "10.5281/zenodo.1"] {
                    assert!(text.contains(part), "{format:?} {slice} {part}: {text}");
                }
                assert!(!text.contains("null"), "{text}");
                assert_eq!(text.contains("tas(time=0..9 of 12)"), slice, "{text}");
            }
        }
        let whole = citation(false).datacite();
        assert_eq!(whole["doi"], "10.5281/zenodo.1");
        assert_eq!(citation(true).datacite()["relatedIdentifiers"][0]["relationType"], "IsPartOf");
    }

    #[test]
    fn a_crate_refers_to_nothing_that_it_does_not_have() {
        let crate_ = citation(true).ro_crate();
        let ids: Vec<&Value> = crate_["@graph"].as_array().unwrap().iter().map(|e| &e["@id"]).collect();
        for part in crate_["@graph"][1]["hasPart"].as_array().unwrap() {
            assert!(ids.contains(&&part["@id"]), "{part}");
        }
    }
}
