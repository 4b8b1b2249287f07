//! `foretell man`: pages for `man`, one for each command.

use clap::Command;
use clap_mangen::Man;
use foretell_files::{Directory, Purpose};
use foretell_scenarios::meant;

use crate::cli::{ManArguments, command};
use crate::failure::Failure;
use crate::output;

/// Runs the command.
pub(crate) fn man(arguments: &ManArguments) -> Result<(), Failure> {
    let mut command = command().disable_help_subcommand(true);
    command.build();
    let Some(path) = &arguments.output else {
        return output::print(&page(find(&command, &arguments.command)?));
    };
    let directory = Directory::take(path, Purpose::of("man").forced(arguments.force))?;
    directory.clear(&[])?;
    let mut count = 0;
    write(&command, &directory, &mut count)?;
    output::print(&format!("{count} pages in `{}`\n", path.display()))
}

/// The command that the words name.
fn find<'a>(mut command: &'a Command, words: &[String]) -> Result<&'a Command, Failure> {
    for word in words {
        let names: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        command = command.find_subcommand(word).ok_or_else(|| {
            let help = meant(word, names.iter().copied()).unwrap_or_default();
            Failure::Usage(format!("there is no command `{word}`; {help}"))
        })?;
    }
    Ok(command)
}

fn name(command: &Command) -> String {
    command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned()
}

fn page(command: &Command) -> String {
    let mut page = Vec::new();
    Man::new(command.clone()).title(name(command)).render(&mut page).expect("memory takes all");
    // the text after the options is an example
    String::from_utf8(page).expect("pages are texts").replace(".SH EXTRA\nExample:", ".SH EXAMPLES")
}

fn write(command: &Command, directory: &Directory, count: &mut u32) -> Result<(), Failure> {
    directory.write(&format!("{}.1", name(command)), page(command).as_bytes())?;
    *count += 1;
    command.get_subcommands().try_for_each(|inner| write(inner, directory, count))
}
