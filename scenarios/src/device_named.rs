//! Devices by name or by file, without a scenario.

use std::path::Path;

use foretell_input::Limit;

use crate::check::check_device;
use crate::device::Device;
use crate::error::{ScenarioError, ScenarioErrors};
use crate::names::meant;
use crate::profiles::{ProfileKind, known, text_of};

impl Device {
    /// The device `name`: a profile that comes with the program or is in `devices/`, as in a
    /// scenario; otherwise the device file at that path.
    ///
    /// Errors if there is neither, or if the file does not describe a device.
    pub fn named(name: &str) -> Result<Self, ScenarioErrors> {
        let here = Path::new("").into();
        let unreadable = |file: &Path, error: &dyn std::fmt::Display| {
            let message = format!("cannot read the device file `{}`: {error}", file.display());
            ScenarioError::nowhere(message, None)
        };
        match text_of(ProfileKind::Device, name, here) {
            Ok(Some((file, text))) => return check_device(&file, &text),
            Ok(None) => {}
            Err((file, error)) => return Err(unreadable(&file, &error).into()),
        }
        let path = Path::new(name);
        if !path.exists() {
            let names = known(ProfileKind::Device, None, here);
            let help = meant(name, names.iter().map(String::as_str));
            let message = format!("there is no device `{name}`, and no file of that name");
            return Err(ScenarioError::nowhere(message, help).into());
        }
        let text = foretell_input::text(path, Limit::SCENARIO)
            .map_err(|error| unreadable(path, &error))?;
        check_device(name, &text)
    }
}
