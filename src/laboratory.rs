//! `foretell laboratory`: lessons and the engine as one page.

use std::path::Path;

use foretell_input::Limit;
use foretell_laboratory::{Engine, Lesson, LessonError, shipped, shipped_names, shipped_text};
use foretell_scenarios::meant;
use foretell_sorted::SortedSet;

use crate::cli::LaboratoryArguments;
use crate::failure::Failure;
use crate::output;

/// File name of the engine.
const ENGINE: &str = "foretell.wasm";

/// Runs the command.
pub(crate) fn laboratory(arguments: &LaboratoryArguments) -> Result<(), Failure> {
    if let Some(name) = &arguments.show {
        let text = shipped_text(name).ok_or_else(|| {
            let near = meant(name, shipped_names()).unwrap_or_default();
            Failure::Usage(format!("no lesson is called `{name}`; {near}"))
        })?;
        return output::print(text);
    }
    let Some(page) = arguments.output.as_deref() else {
        return Err(Failure::Usage("a laboratory is written to a file: give -o FILE".to_owned()));
    };
    // check the output before the lessons, which take time
    let inputs = arguments.lessons.iter().chain(&arguments.engine);
    foretell_files::check_apart(Some(page), crate::report::FILE, inputs)?;
    let lessons = if arguments.lessons.is_empty() {
        shipped().map_err(wrong)?
    } else {
        arguments.lessons.iter().map(|path| lesson(path)).collect::<Result<_, _>>()?
    };
    let mut names = SortedSet::new();
    if let Some(twice) = lessons.iter().find(|lesson| !names.insert(&lesson.name)) {
        let name = &twice.name;
        return Err(Failure::Usage(format!(
            "two lessons are called `{name}`: links need one name each"
        )));
    }
    let html = foretell_laboratory::page(&arguments.title, &lessons, &engine(arguments)?);
    foretell_files::write(page, crate::report::FILE, html.as_bytes())?;
    output::print(&format!(
        "{}: {} lessons, {:.2} MB; open it in a browser\n",
        page.display(),
        lessons.len(),
        html.len() as f64 / 1e6
    ))
}

#[expect(clippy::needless_pass_by_value, reason = "as `map_err` gives it")]
fn wrong(error: LessonError) -> Failure {
    Failure::Usage(error.to_string())
}

fn lesson(path: &Path) -> Result<Lesson, Failure> {
    let text = text(path)?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    Lesson::parse(&name, &path.display().to_string(), &text).map_err(wrong)
}

fn text(path: &Path) -> Result<String, Failure> {
    foretell_input::text(path, Limit::LESSON).map_err(|error| {
        Failure::Usage(format!("cannot read the lesson `{}`: {error}", path.display()))
    })
}

/// The scenario in a lesson's file.
pub(crate) fn scenario_in(path: &Path) -> Result<String, Failure> {
    Lesson::scenario_in(&text(path)?).ok_or_else(|| {
        let path = path.display();
        Failure::Usage(format!(
            "`{path}` is not a lesson: it has no block of code that begins with ```toml scenario"
        ))
    })
}

fn engine(arguments: &LaboratoryArguments) -> Result<Engine, Failure> {
    let beside = || {
        let program = std::env::current_exe().ok()?;
        let directory = program.parent()?;
        let places = [directory.join(ENGINE), directory.join("../web").join(ENGINE)];
        places.into_iter().find(|place| place.is_file())
    };
    let file = arguments.engine.clone().or_else(beside).ok_or_else(|| {
        Failure::Usage(format!(
            "a laboratory holds the simulator as WebAssembly, and no `{ENGINE}` is beside this program. Give one with \
             --engine FILE: a laboratory that somebody made has it, or `.ci/web/run` in the project's sources builds it"
        ))
    })?;
    let bytes = foretell_input::bytes(&file, Limit::ENGINE).map_err(|error| {
        Failure::Usage(format!("cannot read the engine `{}`: {error}", file.display()))
    })?;
    Engine::from_file(&file.display().to_string(), &bytes).map_err(wrong)
}
