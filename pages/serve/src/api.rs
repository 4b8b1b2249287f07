//! The server's interface: paths, their inputs and outputs. `page/openapi.json` describes the same.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::fs;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::rejection::JsonRejection;
use axum::extract::{DefaultBodyLimit, FromRequest, Path, RawQuery, Request, State};
use axum::http::{HeaderName, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use foretell_core::{Asked, Error, Model, SCENARIO_FILE, Scenario, TRUTH_FILE, UnknownModel};
use foretell_report::{CHART_SCRIPT, CHART_STYLE};
use foretell_scenarios::{Change, schema_text, shipped_names};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, mpsc};
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::{Stream, StreamExt};

use crate::guard::{self, Guard};
use crate::problem::{self, Problem};
use crate::runs::{Listed, Runs, Version, changes};
use crate::settings::Budget;
use crate::sweeps::{Points, Shown, Sweeps};
use crate::turns::Turns;
use crate::{Tools, limits, settings};

/// Time limit of a request; simulations have their own limit.
const TIMEOUT: Duration = Duration::from_secs(120);
const PAGE: &str = include_str!("../page/index.html");
const SCRIPT: &str = include_str!("../page/app.js");
const CURVE_SCRIPT: &str = include_str!("../page/curve.js");
const STYLE: &str = include_str!("../page/app.css");
const OPENAPI: &str = include_str!("../page/openapi.json");

/// State shared by all requests.
struct Server {
    runs: Arc<Runs>,
    sweeps: Sweeps,
    tools: Arc<dyn Tools>,
    /// Turns of questions for the fast model, so that these do not wait for replays. There are as many turns as cores:
    /// more questions at a time would only make each of them slower.
    asking_fast: Turns,
    /// Turns of other questions.
    asking: Turns,
    /// Turns of checks of scenarios.
    checking: Turns,
    /// Turns of reports and paths of requests.
    reporting: Turns,
    /// Turns of requests about sweeps, which may read much.
    sweeping: Turns,
    followers: Arc<Semaphore>,
    /// Recent answers, the latest last.
    answers: Mutex<VecDeque<(Question, Arc<str>)>>,
}

/// A question to a run.
#[derive(Clone, PartialEq, Debug)]
struct Question {
    id: String,
    /// The files of the run that is asked about: another run may replace it.
    version: Version,
    model: String,
    changes: Vec<String>,
}

/// Number of pieces of work of a kind that are done at a time: one for each core.
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// Maximum number of threads that work which takes turns needs.
pub(crate) fn turns() -> usize {
    4 * cores() + limits::SWEEP_TURNS
}

type Shared = State<Arc<Server>>;

/// The routes.
pub(crate) fn router(
    runs: Arc<Runs>,
    sweeps: Sweeps,
    tools: Arc<dyn Tools>,
    guard: Arc<Guard>,
) -> Router {
    let server = Arc::new(Server {
        runs,
        sweeps,
        tools,
        asking_fast: Turns::new(cores(), limits::QUEUED),
        asking: Turns::new(cores(), limits::QUEUED),
        checking: Turns::new(cores(), limits::PENDING),
        reporting: Turns::new(cores(), limits::PENDING),
        sweeping: Turns::new(limits::SWEEP_TURNS, limits::PENDING),
        followers: Arc::new(Semaphore::new(limits::FOLLOWERS)),
        answers: Mutex::default(),
    });
    let text = |kind: &'static str, text: &'static str| {
        get(async move || ([(header::CONTENT_TYPE, kind)], text))
    };
    Router::new()
        .route("/", text("text/html; charset=utf-8", PAGE))
        .route("/app.js", text("text/javascript; charset=utf-8", SCRIPT))
        .route("/curve.js", text("text/javascript; charset=utf-8", CURVE_SCRIPT))
        .route("/app.css", text("text/css; charset=utf-8", STYLE))
        .route("/chart.js", text("text/javascript; charset=utf-8", CHART_SCRIPT))
        .route("/chart.css", text("text/css; charset=utf-8", CHART_STYLE))
        .route("/favicon.ico", get(async || StatusCode::NO_CONTENT))
        .route("/api/openapi.json", text("application/json", OPENAPI))
        .route("/api/schema", get(schema))
        .route("/api/scenarios", get(scenarios))
        .route("/api/scenarios/{name}", get(scenario))
        .route("/api/check", post(check))
        .route("/api/runs", get(list).post(begin))
        .route("/api/runs/{id}", get(show).delete(remove))
        .route("/api/runs/{id}/events", get(events))
        .route("/api/runs/{id}/scenario", get(scenario_of))
        .route("/api/runs/{id}/settings", get(settings_of))
        .route("/api/runs/{id}/ask", post(ask))
        .route("/api/runs/{id}/requests/{number}", get(trace))
        .route("/api/report", get(report))
        .route("/api/sweeps", get(list_sweeps))
        .route("/api/sweeps/{id}", get(show_sweep))
        .route("/api/sweeps/{id}/points", get(points))
        .route("/api/sweeps/{id}/report", get(report_of_sweep))
        .fallback(async || Problem::missing("such page"))
        .method_not_allowed_fallback(async || {
            Problem::new(StatusCode::METHOD_NOT_ALLOWED, "this page takes other methods")
        })
        .layer(middleware::from_fn(in_time))
        .layer(DefaultBodyLimit::max(limits::BODY))
        .layer(middleware::from_fn_with_state(guard, guard::pass))
        .with_state(server)
}

async fn in_time(request: Request, next: Next) -> Response {
    let late = || Problem::new(StatusCode::REQUEST_TIMEOUT, "this took too long").into_response();
    tokio::time::timeout(TIMEOUT, next.run(request)).await.unwrap_or_else(|_| late())
}

/// A body of JSON. A bad body gets the same kind of answer as any other error.
struct Body<T>(T);

impl<S: Send + Sync, T: serde::de::DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let read = Json::<T>::from_request(request, state).await;
        read.map(|Json(body)| Self(body))
            .map_err(|error: JsonRejection| Problem::new(error.status(), error.body_text()))
    }
}

/// Runs blocking work where it does not keep other requests waiting.
async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let failed = |_| {
        Problem::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "this is a fault of the program; please report it",
        )
    };
    tokio::task::spawn_blocking(work).await.map_err(failed)?
}

fn as_json(text: impl Into<axum::body::Body>) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], text.into()).into_response()
}

async fn schema() -> Response {
    as_json(schema_text())
}

async fn scenarios() -> Json<Value> {
    Json(json!({ "scenarios": shipped_names().collect::<Vec<_>>() }))
}

async fn scenario(Path(name): Path<String>) -> Result<Json<Value>, Problem> {
    if !shipped_names().any(|known| known == name) {
        return Err(Problem::missing("such scenario"));
    }
    aside(move || {
        let found = Scenario::load(&name)?;
        Ok(Json(json!({ "name": name, "text": found.document().text() })))
    })
    .await
}

/// A scenario sent by a client.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sent {
    text: String,
    #[serde(default)]
    set: Vec<String>,
    #[serde(default)]
    title: String,
}

impl Sent {
    /// The scenario, which may read files of the served directory only.
    fn scenario(&self, runs: &Runs) -> Result<Scenario, Problem> {
        let changes = changes(&self.set)?;
        self.changed(&changes, runs).map_err(|error| Problem::about(&self.text, &error))
    }

    /// The scenario with these changes, checked.
    fn changed(&self, changes: &[Change], runs: &Runs) -> Result<Scenario, Error> {
        let document = Scenario::parse(&self.text, runs.directory())?.into_document().confined();
        let mut scenario = Scenario::from(document);
        scenario.change(changes)?;
        scenario.check()?;
        Ok(scenario)
    }
}

async fn check(State(server): Shared, Body(sent): Body<Sent>) -> Result<Json<Value>, Problem> {
    let turn = server.checking.take("checks").await?;
    let (budget, _waits) = Budget::begin(limits::DRAFT_SETTINGS_TIME);
    aside(move || {
        let _turn = turn;
        let changes = changes(&sent.set)?;
        match sent.changed(&changes, &server.runs) {
            Ok(scenario) => {
                Ok(Json(json!({ "faults": [], "settings": settings::of(&scenario, &budget) })))
            }
            Err(Error::Scenario(errors)) => {
                Ok(Json(json!({ "faults": problem::faults(&errors, &sent.text) })))
            }
            Err(error) => Err(error.into()),
        }
    })
    .await
}

async fn list(State(server): Shared) -> Result<Json<Value>, Problem> {
    aside(move || Ok(Json(json!({ "runs": server.runs.list() })))).await
}

async fn begin(
    State(server): Shared,
    Body(sent): Body<Sent>,
) -> Result<(StatusCode, Json<Listed>), Problem> {
    if sent.title.chars().count() > 100 {
        return Err(Problem::bad("a title has 100 characters at most"));
    }
    let turn = server.checking.take("checks").await?;
    aside(move || {
        let _turn = turn;
        let scenario = sent.scenario(&server.runs)?;
        Ok((StatusCode::CREATED, Json(server.runs.begin(scenario, sent.title)?)))
    })
    .await
}

async fn show(State(server): Shared, Path(id): Path<String>) -> Result<Response, Problem> {
    aside(move || read(&server, &id, TRUTH_FILE).map(as_json)).await
}

async fn scenario_of(
    State(server): Shared,
    Path(id): Path<String>,
) -> Result<Json<Value>, Problem> {
    aside(move || Ok(Json(json!({ "text": read(&server, &id, SCENARIO_FILE)? })))).await
}

/// A file of a run.
fn read(server: &Server, id: &str, file: &str) -> Result<String, Problem> {
    let path = server.runs.find(id)?.join(file);
    fs::read_to_string(path).map_err(|error| Problem::bad(format!("cannot read `{file}`: {error}")))
}

async fn settings_of(
    State(server): Shared,
    Path(id): Path<String>,
) -> Result<Json<Value>, Problem> {
    let turn = server.checking.take("checks").await?;
    let (budget, _waits) = Budget::begin(limits::SETTINGS_TIME);
    aside(move || {
        let _turn = turn;
        let text = read(&server, &id, SCENARIO_FILE)?;
        let scenario = Scenario::parse(&text, server.runs.directory())?;
        Ok(Json(json!({ "settings": settings::of(&scenario, &budget) })))
    })
    .await
}

async fn remove(State(server): Shared, Path(id): Path<String>) -> Result<StatusCode, Problem> {
    aside(move || {
        server.runs.remove(&id)?;
        let mut answers = server.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.retain(|(question, _)| question.id != id);
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}

async fn events(
    State(server): Shared,
    Path(id): Path<String>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
    let place = Arc::clone(&server.followers).try_acquire_owned();
    let place = place.map_err(|_| Problem::busy("too many clients follow runs already"))?;
    let mut status = aside(move || server.runs.follow(&id)).await?;
    let (send, received) = mpsc::channel(1);
    tokio::spawn(async move {
        loop {
            let now = status.borrow_and_update().clone();
            let is_over = now.is_over();
            // the run is finished, or the client has disconnected
            if send.send(now).await.is_err() || is_over || status.changed().await.is_err() {
                break;
            }
        }
    });
    let events = ReceiverStream::new(received).map(move |status| {
        let _held = &place;
        let name = if status.is_over() { "over" } else { "progress" };
        let data = serde_json::to_string(&status).expect("keys are texts");
        Ok(Event::default().event(name).data(data))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()))
}

/// A question.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asking {
    what_if: Vec<String>,
    /// A model's name, or `auto`.
    #[serde(default)]
    model: Option<String>,
}

#[derive(Serialize)]
struct Timed<'a> {
    #[serde(flatten)]
    answered: &'a foretell_core::Answered,
    /// Time of the answer in milliseconds.
    elapsed_ms: f64,
}

async fn ask(
    State(server): Shared,
    Path(id): Path<String>,
    Body(asking): Body<Asking>,
) -> Result<Response, Problem> {
    let model = asking.model.unwrap_or_else(|| "auto".to_owned());
    let asked: Asked =
        model.parse().map_err(|error: UnknownModel| Problem::bad(error.to_string()))?;
    let changes = changes(&asking.what_if)?;
    let runs = Arc::clone(&server.runs);
    let mut question = aside(move || {
        let version = runs.version(&id)?;
        Ok(Question { id, version, model, changes: asking.what_if })
    })
    .await?;
    if let Some(known) = known(&server, &question) {
        return Ok(as_json(known.to_string()));
    }
    let turns = if asked == Asked::Of(Model::Fast) { &server.asking_fast } else { &server.asking };
    let turn = turns.take("questions").await?;
    if let Some(known) = known(&server, &question) {
        return Ok(as_json(known.to_string()));
    }
    let text = aside(move || {
        let _turn = turn;
        let (run, version) = server.runs.open(&question.id)?;
        question.version = version;
        #[expect(clippy::disallowed_methods, reason = "the server times its answers")]
        let began = Instant::now();
        let answered = run.answered(&changes, asked)?;
        let elapsed_ms = began.elapsed().as_secs_f64() * 1e3;
        let text = foretell_core::to_json(&Timed { answered: &answered, elapsed_ms });
        let mut answers = server.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if answers.len() >= limits::ANSWERS {
            answers.pop_front();
        }
        answers.push_back((question, text.as_str().into()));
        Ok(text)
    })
    .await?;
    Ok(as_json(text))
}

/// The stored answer to a question that was asked before.
fn known(server: &Server, question: &Question) -> Option<Arc<str>> {
    let answers = server.answers.lock().unwrap_or_else(PoisonError::into_inner);
    answers.iter().find(|(known, _)| known == question).map(|(_, text)| Arc::clone(text))
}

async fn trace(
    State(server): Shared,
    Path((id, number)): Path<(String, u64)>,
) -> Result<Response, Problem> {
    let turn = server.reporting.take("reports").await?;
    aside(move || {
        let _turn = turn;
        let path = server.runs.find(&id)?;
        server.tools.trace(&path, number).map(as_json).map_err(Problem::bad)
    })
    .await
}

async fn report(State(server): Shared, RawQuery(query): RawQuery) -> Result<Response, Problem> {
    let turn = server.reporting.take("reports").await?;
    aside(move || {
        let _turn = turn;
        let query = query.unwrap_or_default();
        let named = query.split('&').filter_map(|pair| pair.strip_prefix("run="));
        let named: Vec<String> = named.map(|name| name.replace("%20", " ")).collect();
        if named.is_empty() || named.len() > limits::COMPARED {
            return Err(Problem::bad(format!(
                "name 1 to {} runs, as `?run=served-1`",
                limits::COMPARED
            )));
        }
        let paths: Vec<PathBuf> =
            named.iter().map(|id| server.runs.find(id)).collect::<Result<_, _>>()?;
        page(&server, &paths)
    })
    .await
}

/// The page of `foretell report` about these results.
fn page(server: &Server, results: &[PathBuf]) -> Result<Response, Problem> {
    let html = server.tools.report(results).map_err(Problem::bad)?;
    // the page contains its own script and style, and may load nothing
    let policy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
                  img-src data: blob:; font-src data:; sandbox allow-scripts allow-downloads; frame-ancestors 'none'";
    let headers: [(HeaderName, &str); 2] = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, policy),
    ];
    Ok((headers, html).into_response())
}

/// Answers a request about sweeps when it is its turn.
async fn of_sweeps<T: Send + 'static>(
    server: Arc<Server>,
    work: impl FnOnce(&Server) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let turn = server.sweeping.take("requests about sweeps").await?;
    aside(move || {
        let _turn = turn;
        work(&server)
    })
    .await
}

async fn list_sweeps(State(server): Shared) -> Result<Json<Value>, Problem> {
    of_sweeps(server, |server| Ok(Json(json!({ "sweeps": server.sweeps.list() })))).await
}

async fn show_sweep(State(server): Shared, Path(id): Path<String>) -> Result<Json<Shown>, Problem> {
    of_sweeps(server, move |server| server.sweeps.show(&id).map(Json)).await
}

async fn points(
    State(server): Shared,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Json<Points>, Problem> {
    of_sweeps(server, move |server| {
        let query = query.unwrap_or_default();
        let column = |axis: &str| {
            let found = query.split('&').find_map(|pair| pair.strip_prefix(axis));
            found.ok_or_else(|| {
                Problem::bad("name two columns, as `?x=nodes&y=load_throughput_rps`")
            })
        };
        server.sweeps.points(&id, column("x=")?, column("y=")?).map(Json)
    })
    .await
}

async fn report_of_sweep(
    State(server): Shared,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    of_sweeps(server, move |server| page(server, &[server.sweeps.readable(&id)?])).await
}
