//! Parity repairs damage up to its share to the same bytes. More damage is reported, and nothing is changed.

#[cfg(test)]
mod carried;
#[cfg(test)]
mod damage;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod in_place;
#[cfg(test)]
mod made;
#[cfg(test)]
mod verdict;
