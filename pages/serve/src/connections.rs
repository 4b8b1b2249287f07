//! Accepts connections.
//!
//! A client that opens connections and sends nothing, or the head of a request byte by byte, holds a connection for
//! [`limits::HEAD_TIME`] only. Bodies and answers have a limit of their own ([`crate::api`]).

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use crate::limits;

/// Time before the next attempt if no connection can be accepted, for example because too many files are open.
const PAUSE: Duration = Duration::from_millis(200);

/// Serves connections until the process ends.
pub(crate) async fn serve(listener: TcpListener, router: Router) {
    let places = Arc::new(Semaphore::new(limits::CONNECTIONS));
    loop {
        let place = Arc::clone(&places).acquire_owned().await.expect("it is never closed");
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        // progress is sent in small pieces
        let _ = stream.set_nodelay(true);
        let service = TowerToHyperService::new(router.clone());
        tokio::spawn(async move {
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(limits::HEAD_TIME)
                .serve_connection(TokioIo::new(stream), service);
            // a client that breaks off is no error of ours
            let _ = connection.await;
            drop(place);
        });
    }
}
