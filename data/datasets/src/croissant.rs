//! `croissant.json`: the data set described in Croissant 1.0, the vocabulary of ML Commons.

use serde_json::{Value as Json, json};

use crate::column::{Column, Kind};
use crate::finish::Content;
use crate::manifest::{Format, Manifest};

/// Writes the description.
pub(crate) fn croissant(manifest: &Manifest, content: &Content) -> String {
    let encoding = match content.format {
        Format::Parquet => "application/x-parquet",
        Format::Csv => "text/csv",
    };
    let mut distribution: Vec<Json> = Vec::new();
    let mut record_sets: Vec<Json> = Vec::new();
    for table in manifest.tables.iter().filter(|table| content.rows(&table.name) > 0) {
        let mut files = Vec::new();
        for file in content.files_of(&table.name) {
            distribution.push(json!({
                "@type": "cr:FileObject",
                "@id": file.path,
                "name": file.path,
                "contentUrl": file.path,
                "contentSize": format!("{} B", file.bytes),
                "encodingFormat": encoding,
                "sha256": file.sha256,
            }));
            files.push(json!({ "@id": file.path }));
        }
        let set = format!("{}-files", table.name);
        distribution.push(json!({
            "@type": "cr:FileSet",
            "@id": set,
            "name": set,
            "containedIn": files,
            "encodingFormat": encoding,
            "includes": format!(
                "{}/*.{}",
                crate::finish::table_directory(&table.name),
                content.format.ending()
            ),
        }));
        let fields: Vec<Json> =
            table.columns.iter().map(|column| field(&table.name, &set, column)).collect();
        record_sets.push(json!({
            "@type": "cr:RecordSet",
            "@id": table.name,
            "name": table.name,
            "description": table.description,
            "field": fields,
        }));
    }
    let factors: Vec<String> =
        manifest.factors.iter().map(|(name, values)| format!("{name} ({values})")).collect();
    let document = json!({
        "@context": context(),
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": manifest.title,
        "description": format!(
            "{}\n\nFactors: {}. Splits: {}. Seed {}. Content digest {}.",
            manifest.description.trim(),
            factors.join("; "),
            manifest.split,
            manifest.seed,
            content.digest
        ).trim(),
        "license": manifest.license,
        "version": manifest.tool_version,
        "keywords": ["storage", "performance", "simulation"],
        "distribution": distribution,
        "recordSet": record_sets,
    });
    format!("{document:#}\n")
}

fn field(table: &str, set: &str, column: &Column) -> Json {
    let kind = match column.kind {
        Kind::Flag => "sc:Boolean",
        Kind::Whole => "sc:Integer",
        Kind::Number => "sc:Float",
        Kind::Text => "sc:Text",
    };
    let mut description = column.description.clone();
    if !column.unit.is_empty() {
        description = format!("{description} ({})", column.unit);
    }
    json!({
        "@type": "cr:Field",
        "@id": format!("{table}/{}", column.name),
        "name": column.name,
        "description": description,
        "dataType": kind,
        "source": {
            "fileSet": { "@id": set },
            "extract": { "column": column.name },
        },
    })
}

/// The context given by the specification of Croissant 1.0.
fn context() -> Json {
    json!({
        "@language": "en",
        "@vocab": "https://schema.org/",
        "citeAs": "cr:citeAs",
        "column": "cr:column",
        "conformsTo": "dct:conformsTo",
        "cr": "http://mlcommons.org/croissant/",
        "rai": "http://mlcommons.org/croissant/RAI/",
        "data": { "@id": "cr:data", "@type": "@json" },
        "dataType": { "@id": "cr:dataType", "@type": "@vocab" },
        "dct": "http://purl.org/dc/terms/",
        "equivalentProperty": "cr:equivalentProperty",
        "examples": { "@id": "cr:examples", "@type": "@json" },
        "extract": "cr:extract",
        "field": "cr:field",
        "fileProperty": "cr:fileProperty",
        "fileObject": "cr:fileObject",
        "fileSet": "cr:fileSet",
        "format": "cr:format",
        "includes": "cr:includes",
        "isLiveDataset": "cr:isLiveDataset",
        "jsonPath": "cr:jsonPath",
        "key": "cr:key",
        "md5": "cr:md5",
        "parentField": "cr:parentField",
        "path": "cr:path",
        "recordSet": "cr:recordSet",
        "references": "cr:references",
        "regex": "cr:regex",
        "repeated": "cr:repeated",
        "replace": "cr:replace",
        "samplingRate": "cr:samplingRate",
        "sc": "https://schema.org/",
        "separator": "cr:separator",
        "source": "cr:source",
        "subField": "cr:subField",
        "transform": "cr:transform"
    })
}
