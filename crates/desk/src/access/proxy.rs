//! A proxy in front of the desk that has asked who somebody is (single sign-on). Pure.

use std::net::IpAddr;

use axum::http::{HeaderMap, HeaderName};

use super::principal::{Login, Principal, Role, is_reserved};

/// Whom to believe, and where they say it. From every other address these headers mean nothing.
#[derive(Debug, Clone)]
pub struct Proxy {
    /// Addresses of the proxies.
    pub addresses: Vec<IpAddr>,
    /// The header with the user's name.
    pub user_header: HeaderName,
    /// The header with the role, if the proxy says one.
    pub role_header: Option<HeaderName>,
    /// The header with the projects, separated by commas, if the proxy says them.
    pub projects_header: Option<HeaderName>,
    /// The role of users about whom the proxy says none.
    pub role: Role,
}

impl Proxy {
    /// Whether this is one of them.
    pub fn is_trusted(&self, peer: IpAddr) -> bool {
        self.addresses.contains(&peer.to_canonical())
    }

    /// Who asks, as a trusted proxy says; none when it names nobody.
    ///
    /// # Errors
    /// What is wrong with its headers: nobody gets in by a header that cannot be understood.
    pub fn principal(&self, headers: &HeaderMap) -> Result<Option<Principal>, String> {
        let Some(name) = one(headers, &self.user_header)? else { return Ok(None) };
        if is_reserved(name) {
            return Err(format!("the proxy names a user {name:?}, which means something else here"));
        }
        let role = match self.role_header.as_ref().map(|header| one(headers, header)).transpose()?.flatten() {
            Some(word) => {
                Role::parse(word).ok_or_else(|| format!("the proxy says an unknown role: {word:?}"))?
            }
            None => self.role,
        };
        let projects = self.projects_header.as_ref().map(|header| one(headers, header)).transpose()?;
        let projects = projects.map(|listed| {
            let names = listed.unwrap_or_default().split(',').map(str::trim).filter(|name| !name.is_empty());
            names.map(str::to_owned).collect()
        });
        Ok(Some(Principal { name: name.to_owned(), role, projects, login: Login::Proxy }))
    }
}

/// The one value of a header, if there is one that is not blank. A header that comes twice was added to by somebody.
fn one<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, String> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(format!("the header {name} came more than once"));
    }
    let value = value.to_str().map_err(|_| format!("the header {name} is not plain text"))?.trim();
    Ok(Some(value).filter(|value| !value.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxy() -> Proxy {
        Proxy {
            addresses: vec!["10.0.0.1".parse().unwrap()],
            user_header: HeaderName::from_static("x-user"),
            role_header: Some(HeaderName::from_static("x-role")),
            projects_header: Some(HeaderName::from_static("x-projects")),
            role: Role::Viewer,
        }
    }

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, axum::http::HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn only_listed_addresses_are_trusted_in_either_notation() {
        let proxy = proxy();
        assert!(proxy.is_trusted("10.0.0.1".parse().unwrap()));
        assert!(proxy.is_trusted("::ffff:10.0.0.1".parse().unwrap()));
        assert!(!proxy.is_trusted("10.0.0.2".parse().unwrap()));
    }

    #[test]
    fn a_user_has_the_role_and_the_projects_that_the_proxy_says() {
        let found =
            proxy().principal(&headers(&[("x-user", "ada"), ("x-role", "reviewer"), ("x-projects", "a, b")]));
        let found = found.unwrap().unwrap();
        assert_eq!((found.name.as_str(), found.role), ("ada", Role::Reviewer));
        assert_eq!(found.projects, Some(vec!["a".to_owned(), "b".to_owned()]));
        let plain = proxy().principal(&headers(&[("x-user", "ada")])).unwrap().unwrap();
        assert_eq!(plain.role, Role::Viewer);
        // Where the proxy is to say the projects and says none, there are none.
        assert_eq!(plain.projects, Some(Vec::new()));
        assert_eq!(proxy().principal(&headers(&[("x-user", "  ")])), Ok(None));
    }

    #[test]
    fn headers_that_cannot_be_understood_let_nobody_in() {
        for wrong in [
            &[("x-user", "ada"), ("x-user", "eve")][..],
            &[("x-user", "ada"), ("x-role", "root")],
            &[("x-user", "nobody")],
            &[("x-user", "Loopback")],
            &[("x-user", "ada"), ("x-role", "viewer"), ("x-role", "admin")],
        ] {
            assert!(proxy().principal(&headers(wrong)).is_err(), "{wrong:?}");
        }
    }
}
