//! Sites in a Parquet table of OME-Arrow images: single cells, or whole fields of view. No pixels are read.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use pcb_formats::{ArrowImage, SourceFile, SourceKind, arrow_columns, arrow_images};

use super::{Draft, Missing, Plan, Request, key};
use crate::data::columns::Table;
use crate::data::import::names::{plain_site, well_key};
use crate::data::import::profiles::{FILE_PREFIX, ID, PLATE, Profile, Profiles, SITE, WELL, matching};
use crate::data::{DataError, counted};

/// Whether `images` is a table and not a folder of files.
pub fn is_table(images: &Path) -> bool {
    images.extension().is_some_and(|e| e.eq_ignore_ascii_case("parquet")) && images.is_file()
}

/// Columns beside the images, as text; `None` where the table has no such column.
struct Columns {
    plate: Option<Vec<Option<String>>>,
    well: Option<Vec<Option<String>>>,
    site: Option<Vec<Option<String>>>,
    /// Number of the field of view.
    number: Option<Vec<Option<String>>>,
    /// Id of the field of view.
    image: Option<Vec<Option<String>>>,
    object: Option<Vec<Option<String>>>,
    channel: Option<Vec<Option<String>>>,
}

/// Rows of the table that are one site.
struct Group {
    draft: Draft,
    /// What it is sorted by beside plate and well; rows of equal ones stay in table order.
    order: String,
    /// Number of the field of view.
    number: Option<String>,
    /// Channel and row of each plane, with its height and width.
    planes: Vec<(usize, SourceFile, (u32, u32))>,
}

impl Request<'_> {
    /// Sites and channels of the table of images.
    pub(super) fn by_arrow(&self) -> Result<Plan, DataError> {
        let (column, images) = self.images()?;
        let columns = Columns::read(self.images, self.id)?;
        let mut channels: Vec<String> = Vec::new();
        let mut groups: Vec<Group> = Vec::new();
        let mut known: HashMap<String, usize> = HashMap::new();
        let mut without_id = 0;
        for (row, image) in images.iter().enumerate() {
            let Some(image) = image else { continue };
            let of_object = columns.object.is_some();
            if of_object && columns.object(row).is_none() {
                without_id += 1;
                continue;
            }
            let group = self.group(&columns, image, row);
            let name = format!("{}\n{}\n{}\n{}", group.draft.plate, group.draft.well, group.order, group.draft.site);
            let at = *known.entry(name).or_insert(groups.len());
            if at == groups.len() {
                groups.push(group);
            }
            for (page, channel) in names(&columns, image, row).into_iter().enumerate() {
                let number = channels.iter().position(|known| *known == channel).unwrap_or(channels.len());
                if number == channels.len() {
                    channels.push(channel);
                }
                let source = SourceFile {
                    path: self.images.to_owned(),
                    kind: SourceKind::OmeArrow,
                    page: page as u32,
                    row: row as u64,
                    column: Some(column.clone()),
                };
                groups[at].planes.push((number, source, (image.height, image.width)));
            }
        }
        let mut warnings = Vec::new();
        if without_id > 0 {
            warnings.push(format!("left out {} of the table without an object id", counted(without_id, "row")));
        }
        self.join_profiles(&mut groups, &mut warnings)?;
        groups.sort_by_cached_key(|group| key(&group.draft.plate, &group.draft.well, &group.order));
        self.finish(channels, groups, warnings)
    }

    /// The column of images that holds any, and its images.
    fn images(&self) -> Result<(String, Vec<Option<ArrowImage>>), DataError> {
        let columns = arrow_columns(self.images)?;
        let wanted = |name: &String| !["image", "ome_arrow"].contains(&name.as_str());
        let mut sorted = columns.clone();
        sorted.sort_by_key(wanted);
        for column in sorted {
            let images = arrow_images(self.images, &column)?;
            if images.iter().any(Option::is_some) {
                return Ok((column, images));
            }
        }
        let problem = match columns.len() {
            0 => "no column holds OME-Arrow images".to_owned(),
            _ => format!("no row has an image in {}", columns.join(", ")),
        };
        Err(DataError::content(self.images, problem))
    }

    /// The site that an image belongs to, without its planes.
    fn group(&self, columns: &Columns, image: &ArrowImage, row: usize) -> Group {
        let number = at(&columns.number, row).map(|number| plain_site(&number));
        let own = at(&columns.image, row).or_else(|| Some(image.id.clone()).filter(|id| !id.is_empty()));
        let named = own.as_ref().and_then(|id| self.names.parts(Path::new(id)));
        let plate = at(&columns.plate, row).or_else(|| named.as_ref().and_then(|parts| parts.plate.clone()));
        let well = at(&columns.well, row).or_else(|| named.as_ref().map(|parts| parts.well.clone()));
        let site = at(&columns.site, row).map(|site| plain_site(&site));
        let mut draft = Draft { plate: plate.unwrap_or_default(), ..Draft::default() };
        let Some(object) = columns.object(row) else {
            let site = site.or_else(|| named.map(|parts| parts.site)).or_else(|| number.clone()).or(own);
            draft.well = well.unwrap_or_else(|| "A01".to_owned());
            draft.site = site.unwrap_or_else(|| row.to_string());
            return Group { order: draft.site.clone(), draft, number, planes: Vec::new() };
        };
        // Cells of one field of view are neighbours, as those of a well are.
        draft.well = well.or_else(|| number.as_ref().map(|number| format!("image{number}"))).unwrap_or_default();
        draft.site = site.as_ref().map_or_else(|| object.clone(), |site| format!("{site}-{object}"));
        draft.object = Some(object);
        Group { order: site.unwrap_or_default(), draft, number, planes: Vec::new() }
    }

    /// Gives each site what the profile table says of it.
    fn join_profiles(&self, groups: &mut Vec<Group>, warnings: &mut Vec<String>) -> Result<(), DataError> {
        let cells = groups.iter().any(|group| group.draft.object.is_some());
        if let Some((path, profiles)) = self.table {
            if cells {
                join_cells(path, profiles, groups, warnings)?;
            } else {
                self.join_fields(path, profiles, groups)?;
            }
        }
        for group in groups {
            if group.draft.plate.is_empty() {
                group.draft.plate = self.plate.to_owned();
            }
            if group.draft.well.is_empty() {
                group.draft.well = "A01".to_owned();
            }
        }
        Ok(())
    }

    /// Gives fields of view the rows with their number, or with their well and site.
    fn join_fields(&self, path: &Path, profiles: &Profiles, groups: &mut [Group]) -> Result<(), DataError> {
        let mut by_number: HashMap<String, usize> = HashMap::new();
        let mut by_place: HashMap<((String, u32), String), usize> = HashMap::new();
        for (at, group) in groups.iter().enumerate() {
            by_place.insert((well_key(&group.draft.well), plain_site(&group.draft.site)), at);
            by_number.extend(group.number.clone().map(|number| (number, at)));
        }
        let mut lost = BTreeSet::new();
        for (index, profile) in profiles.rows.iter().enumerate() {
            let by_image = profile.image.as_ref().map(|number| plain_site(number)).filter(|_| !by_number.is_empty());
            let found = match by_image {
                Some(number) => by_number.get(&number).copied().ok_or(format!("image number {number}")),
                None => {
                    let (plate, well, site) = self.place(path, profile)?;
                    let found = by_place.get(&(well_key(&well), site.clone())).copied();
                    found.ok_or(format!("plate {plate}, well {well}, site {site}"))
                }
            };
            match found {
                Ok(at) => {
                    let draft = &mut groups[at].draft;
                    draft.rows.push(index);
                    if let Some(plate) = profile.plate.as_ref().filter(|_| draft.plate.is_empty()) {
                        draft.plate = plate.clone();
                    }
                }
                Err(place) => drop(lost.insert(place)),
            }
        }
        if lost.is_empty() || self.skip_missing {
            return Ok(());
        }
        Err(DataError::Missing { names: lost.into_iter().map(|place| format!("all channels of {place}")).collect() })
    }

    /// Puts the planes of each site into the order of channels.
    fn finish(&self, channels: Vec<String>, groups: Vec<Group>, mut warnings: Vec<String>) -> Result<Plan, DataError> {
        let (mut drafts, mut missing) = (Vec::new(), Vec::new());
        for group in groups {
            let Group { mut draft, planes, .. } = group;
            let name = match &draft.object {
                Some(object) => format!("object {object}"),
                None => draft.name(),
            };
            let sizes: BTreeSet<_> = planes.iter().map(|(.., size)| *size).collect();
            if sizes.len() > 1 {
                let text = |(channel, source, (height, width)): &(usize, SourceFile, (u32, u32))| {
                    format!("{} (row {}) is {height}x{width}", channels[*channel], source.row)
                };
                let problem = format!(
                    "{name}: its channels differ in size: {}",
                    planes.iter().map(text).collect::<Vec<_>>().join(", ")
                );
                if !self.skip_missing {
                    let problem = format!("{problem}; --skip-missing goes on without it");
                    return Err(DataError::content(self.images, problem));
                }
                warnings.push(format!("left out {problem}"));
                continue;
            }
            draft.files = vec![None; channels.len()];
            for (channel, source, _) in planes {
                if let Some(other) = &draft.files[channel] {
                    let problem = format!(
                        "rows {} and {} are both channel {} of {name}",
                        other.row, source.row, channels[channel]
                    );
                    return Err(DataError::content(self.images, problem));
                }
                draft.files[channel] = Some(source);
            }
            for channel in (0..channels.len()).filter(|&channel| draft.files[channel].is_none()) {
                missing.push(Missing::Channel { draft: drafts.len(), channel, file: None });
            }
            drafts.push(draft);
        }
        let mut plan = self.without_missing(channels, drafts, missing, Vec::new())?;
        plan.warnings.splice(0..0, warnings);
        Ok(plan)
    }
}

/// Keeps the cells that the profile table lists, and gives them its plate and well where the images have none.
fn join_cells(
    path: &Path,
    profiles: &Profiles,
    groups: &mut Vec<Group>,
    warnings: &mut Vec<String>,
) -> Result<(), DataError> {
    let mut by_id: HashMap<&str, &Profile> = HashMap::new();
    for profile in &profiles.rows {
        if let Some(id) = &profile.id
            && let Some(other) = by_id.insert(id, profile)
        {
            let problem = format!("rows {} and {} have the same object id {id:?}", other.row, profile.row);
            return Err(DataError::content(path, problem));
        }
    }
    if by_id.is_empty() {
        let problem = "no ids of objects: expected a column like Metadata_ObjectID, or --id";
        return Err(DataError::content(path, problem));
    }
    let before = groups.len();
    groups.retain_mut(|group| {
        let profile = group.draft.object.as_deref().and_then(|id| by_id.remove(id));
        let Some(profile) = profile else { return false };
        let said = |own: &mut String, other: &Option<String>| {
            if let Some(other) = other.as_ref().filter(|_| own.is_empty()) {
                *own = other.clone();
            }
        };
        said(&mut group.draft.plate, &profile.plate);
        said(&mut group.draft.well, &profile.well);
        true
    });
    for (count, what) in [(before - groups.len(), "without a row of the table"), (by_id.len(), "without an image")] {
        if count > 0 {
            warnings.push(format!("left out {} {what}", counted(count as u64, "object")));
        }
    }
    if groups.is_empty() {
        return Err(DataError::content(path, "no row has the object id of an image"));
    }
    Ok(())
}

fn at(column: &Option<Vec<Option<String>>>, row: usize) -> Option<String> {
    column.as_ref().and_then(|column| column.get(row).cloned()).flatten().filter(|text| !text.is_empty())
}

/// Names of the channels of an image: that of its row, or its own.
fn names(columns: &Columns, image: &ArrowImage, row: usize) -> Vec<String> {
    let of_row = at(&columns.channel, row).map(|name| name.strip_prefix(FILE_PREFIX).unwrap_or(&name).to_owned());
    match of_row {
        Some(name) if image.channels.len() == 1 => vec![name],
        Some(name) => (0..image.channels.len()).map(|channel| format!("{name}-{channel}")).collect(),
        None => image.channels.clone(),
    }
}

impl Columns {
    fn read(path: &Path, id: Option<&str>) -> Result<Self, DataError> {
        let table = Table::open(path)?;
        let find = |pattern: &str| matching(&table.names, pattern);
        let object =
            match id {
                Some(wanted) => Some(table.names.iter().position(|name| name == wanted).ok_or_else(|| {
                    DataError::Usage(format!("--id {wanted:?}: {} has no such column", path.display()))
                })?),
                None => find(ID),
            };
        let text = |index: Option<usize>| {
            let column = index.map(|index| table.read(&[index])).transpose()?;
            column.and_then(|mut columns| columns.pop()).map(|column| column.text()).transpose()
        };
        Ok(Self {
            plate: text(find(PLATE))?,
            well: text(find(WELL))?,
            site: text(find(SITE))?,
            number: text(find(r"(?i)^(Metadata_)?Image_?Number$"))?,
            image: text(find(r"(?i)^(Metadata_)?Image_?ID$"))?,
            object: text(object)?,
            channel: text(find(r"(?i)^(source_image_column|(Metadata_)?Channel(_?Name)?)$"))?,
        })
    }

    fn object(&self, row: usize) -> Option<String> {
        at(&self.object, row)
    }
}
