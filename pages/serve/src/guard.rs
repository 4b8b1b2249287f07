//! Access control of the server.
//!
//! A page of another site can make the user's browser send requests to this machine, from its own origin, or
//! under a host name of its own that points here (DNS rebinding). So `Host` must name this server, and if a
//! browser sends an `Origin`, that must be this server's, too. With a token, each request must carry it: as
//! `Authorization: Bearer`, or as a cookie that the page sets when it is first opened with `?token=`.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use subtle::ConstantTimeEq;

use crate::problem::Problem;

/// The name of the cookie with the token.
const COOKIE: &str = "foretell_token";

/// The name of a host without the port that browsers leave out.
fn without_default_port(host: &str) -> &str {
    host.strip_suffix(":80").unwrap_or(host)
}

/// Access control.
#[derive(Debug)]
pub struct Guard {
    /// Allowed values of `Host`. With a token any value is allowed, since a proxy may be in front of the
    /// server.
    hosts: Vec<String>,
    token: Option<String>,
}

impl Guard {
    /// Access control for a server at this address.
    pub fn new(address: SocketAddr, token: Option<&str>) -> Arc<Self> {
        let port = address.port();
        let hosts = [
            format!("localhost:{port}"),
            format!("127.0.0.1:{port}"),
            format!("[::1]:{port}"),
            address.to_string(),
        ];
        let hosts = hosts.iter().map(|host| without_default_port(host).to_owned()).collect();
        Arc::new(Self { hosts, token: token.map(str::to_owned) })
    }

    fn may(&self, headers: &HeaderMap) -> Result<(), Problem> {
        let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
        let host = text(header::HOST).unwrap_or_default().to_ascii_lowercase();
        let host = without_default_port(&host).to_owned();
        let refused = |error: &str| Err(Problem::new(StatusCode::FORBIDDEN, error));
        if headers.get_all(header::HOST).iter().count() != 1 {
            return refused("the request must say its `Host` once");
        }
        if self.token.is_none() && !self.hosts.contains(&host) {
            return refused("this server does not go by that name");
        }
        if headers.contains_key(header::ORIGIN) {
            let origin = text(header::ORIGIN).unwrap_or_default().to_ascii_lowercase();
            let own = origin
                .strip_prefix("http://")
                .map(without_default_port)
                // behind a proxy with encryption
                .or_else(|| {
                    origin
                        .strip_prefix("https://")
                        .map(|named| named.strip_suffix(":443").unwrap_or(named))
                })
                .is_some_and(|named| {
                    named == host.strip_suffix(":443").unwrap_or(&host) || named == host
                });
            if !own {
                return refused("another page may not use this server");
            }
        }
        if text(HeaderName::from_static("sec-fetch-site")).is_some_and(|site| site == "cross-site")
        {
            return refused("another page may not use this server");
        }
        let Some(token) = &self.token else { return Ok(()) };
        let bearer = text(header::AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer "));
        let cookies = text(header::COOKIE).unwrap_or_default().split(';');
        let cookie = cookies
            .filter_map(|pair| pair.trim().split_once('='))
            .find(|(name, _)| *name == COOKIE);
        let given = bearer.or(cookie.map(|(_, value)| value)).unwrap_or_default();
        if bool::from(given.as_bytes().ct_eq(token.as_bytes())) {
            Ok(())
        } else {
            Err(Problem::new(
                StatusCode::UNAUTHORIZED,
                "the request must carry the token of this server",
            ))
        }
    }

    /// The response to the page opened with `?token=`: it sets the cookie, and redirects to the page without
    /// the token in its address.
    fn entrance(&self, request: &Request<Body>) -> Option<Response> {
        let token = self.token.as_deref()?;
        let query = request.uri().query()?;
        let given = query.split('&').find_map(|pair| pair.strip_prefix("token="))?;
        if request.uri().path() != "/" || !bool::from(given.as_bytes().ct_eq(token.as_bytes())) {
            return None;
        }
        let cookie = format!("{COOKIE}={token}; HttpOnly; SameSite=Strict; Path=/");
        let headers = [
            (header::SET_COOKIE, HeaderValue::from_str(&cookie).ok()?),
            (header::LOCATION, HeaderValue::from_static("/")),
        ];
        Some((StatusCode::SEE_OTHER, headers).into_response())
    }
}

/// Lets permitted requests pass, and adds security headers to each response.
pub(crate) async fn pass(
    State(guard): State<Arc<Guard>>,
    request: Request<Body>,
    next: Next,
) -> Response {
    let mut response = match (guard.entrance(&request), guard.may(request.headers())) {
        (Some(entrance), _) => entrance,
        (None, Ok(())) => next.run(request).await,
        (None, Err(problem)) => problem.into_response(),
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
         form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
    ));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(guard: &Guard, host: &str, origin: Option<&str>) -> Option<StatusCode> {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().unwrap());
        }
        guard.may(&headers).err().map(|problem| problem.into_response().status())
    }

    #[test]
    fn browsers_leave_out_port_80() {
        let guard = Guard::new("127.0.0.1:80".parse().unwrap(), None);
        for host in ["localhost", "localhost:80", "127.0.0.1", "[::1]", "LocalHost"] {
            assert_eq!(status(&guard, host, None), None, "{host}");
        }
        assert_eq!(status(&guard, "localhost", Some("http://localhost")), None);
        assert_eq!(status(&guard, "localhost:80", Some("http://localhost")), None);
        for (host, origin) in [
            ("localhost:8080", None),
            ("evil.example", None),
            ("evil.example:80", None),
            ("localhost", Some("http://evil.example")),
            ("localhost", Some("http://localhost:8080")),
            ("localhost", Some("null")),
        ] {
            assert_eq!(status(&guard, host, origin), Some(StatusCode::FORBIDDEN), "{host}");
        }
        let other = Guard::new("127.0.0.1:8080".parse().unwrap(), None);
        assert_eq!(status(&other, "localhost", None), Some(StatusCode::FORBIDDEN));
        assert_eq!(status(&other, "localhost:8080", Some("http://localhost:8080")), None);
    }
}
