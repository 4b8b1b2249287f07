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
        Arc::new(Self { hosts: hosts.into(), token: token.map(str::to_owned) })
    }

    fn may(&self, headers: &HeaderMap) -> Result<(), Problem> {
        let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
        let host = text(header::HOST).unwrap_or_default().to_ascii_lowercase();
        let refused = |error: &str| Err(Problem::new(StatusCode::FORBIDDEN, error));
        if headers.get_all(header::HOST).iter().count() != 1 {
            return refused("the request must say its `Host` once");
        }
        if self.token.is_none() && !self.hosts.contains(&host) {
            return refused("this server does not go by that name");
        }
        if headers.contains_key(header::ORIGIN) {
            let origin = text(header::ORIGIN).unwrap_or_default().to_ascii_lowercase();
            let own = ["http://", "https://"]
                .iter()
                .any(|scheme| origin.strip_prefix(scheme).is_some_and(|named| named == host));
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
