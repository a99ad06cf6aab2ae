//! `groundcrew token`: who may use the desk without a person behind it.

use desk::access::{NewToken, is_reserved};
use serde_json::json;
use store::ApiToken;

use super::table;
use crate::args::{TokenAdd, TokenList, TokenRevoke};
use crate::config::Settings;
use crate::failure::{Failure, Outcome};
use crate::output::{self, Output};
use crate::{services, terminal};

/// The longest name.
const MAX_NAME_CHARS: usize = 200;

/// Makes a token and shows it once.
pub(crate) async fn add(args: &TokenAdd, settings: &Settings) -> Outcome {
    let name = args.name.trim();
    if name.is_empty() || name.chars().count() > MAX_NAME_CHARS || name.chars().any(char::is_control) {
        let message = format!("a token needs a name of 1 to {MAX_NAME_CHARS} printable characters");
        return Err(Failure::usage(message));
    }
    if is_reserved(name) {
        return Err(Failure::usage(format!(
            "a token cannot be called {name:?}: the desk means something else by that"
        ))
        .hint("choose a name that says who or what uses it"));
    }
    if let Some(blank) = args.projects.iter().find(|project| project.trim().is_empty()) {
        return Err(Failure::usage(format!("a project cannot be called {blank:?}")));
    }
    let store = services::store(settings).await?;
    let token = NewToken::make();
    let projects = (!args.projects.is_empty()).then_some(args.projects.as_slice());
    let added = store.add_token(name, token.hash(), args.role.as_str(), projects).await;
    store.close().await;
    if !added.map_err(services::database)? {
        return Err(Failure::usage(format!("there is a token of the name {name:?}"))
            .hint("revoke it with `groundcrew token revoke`, or choose another name"));
    }
    let mut output = Output::new();
    if args.json.json {
        let shown = json!({ "name": name, "role": args.role, "projects": projects, "token": token.expose() });
        output.json(&shown);
    } else {
        output.line(token.expose());
        output::note("keep it: it is shown this once, and only its hash is stored");
    }
    Ok(())
}

/// Lists tokens.
pub(crate) async fn list(args: &TokenList, settings: &Settings) -> Outcome {
    let store = services::store(settings).await?;
    let tokens = store.tokens().await;
    store.close().await;
    let mut tokens = tokens.map_err(services::database)?;
    tokens.retain(|token| args.all || token.revoked_at.is_none());
    let mut output = Output::new();
    if args.json.json {
        output.json(&tokens);
        return Ok(());
    }
    if tokens.is_empty() {
        output.line("no tokens; `groundcrew token add NAME --role ROLE` makes one");
        return Ok(());
    }
    let rows: Vec<_> = tokens.iter().map(cells).collect();
    for line in table::lines(["name", "role", "projects", "made", "last used", "revoked"], &rows) {
        output.line(line);
    }
    Ok(())
}

fn cells(token: &ApiToken) -> [String; 6] {
    let day = |time: Option<chrono::DateTime<chrono::Utc>>| {
        time.map_or_else(|| "-".to_owned(), |time| time.format("%Y-%m-%d %H:%M").to_string())
    };
    [
        terminal::line(&token.name),
        token.role.clone(),
        token.projects.as_ref().map_or_else(|| "all".to_owned(), |names| terminal::line(&names.join(", "))),
        day(Some(token.created_at)),
        day(token.last_used_at),
        day(token.revoked_at),
    ]
}

/// Revokes a token.
pub(crate) async fn revoke(args: &TokenRevoke, settings: &Settings) -> Outcome {
    let store = services::store(settings).await?;
    let revoked = store.revoke_token(args.name.trim()).await;
    store.close().await;
    let revoked = revoked.map_err(services::database)?;
    let mut output = Output::new();
    if args.json.json {
        output.json(&json!({ "name": args.name, "revoked": revoked }));
    } else if revoked {
        output
            .line(format!("revoked {}: within a few seconds no desk accepts it", terminal::line(&args.name)));
    }
    if revoked {
        Ok(())
    } else {
        Err(Failure::failed(format!("there is no token of the name {:?} in force", args.name)))
    }
}
