//! The description of the API (OpenAPI 3.1), made from the table of routes and the types of what they take and give.

use axum::Json;
use axum::http::Method;
use axum::routing::get;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::access::Role;
use crate::routes::{Least, Route};

/// How a type is described.
type Describe = fn(&mut SchemaGenerator) -> Schema;

/// What a route takes and gives.
#[derive(Debug, Clone, Copy, Default)]
pub struct Shape {
    query: Option<Describe>,
    takes: Option<Describe>,
    gives: Option<Describe>,
}

impl Route {
    /// Says what its query may hold.
    #[must_use]
    pub fn takes_query<T: JsonSchema>(mut self) -> Self {
        self.shape.query = Some(|generator| generator.root_schema_for::<T>());
        self
    }

    /// Says what its body holds, as JSON.
    #[must_use]
    pub fn takes<T: JsonSchema>(mut self) -> Self {
        self.shape.takes = Some(|generator| generator.subschema_for::<T>());
        self
    }

    /// Says what it answers, as JSON.
    #[must_use]
    pub fn gives<T: JsonSchema>(mut self) -> Self {
        self.shape.gives = Some(|generator| generator.subschema_for::<T>());
        self
    }
}

pub(crate) fn routes() -> Vec<Route> {
    let about = "this description";
    vec![Route::new(Method::GET, "/api/v1/openapi.json", Least::Public, about, get(serve))]
}

async fn serve() -> Json<Value> {
    Json(describe(&crate::routes::all()))
}

/// Describes the routes that are for programs: those that say what they give.
pub fn describe(routes: &[Route]) -> Value {
    let settings =
        SchemaSettings::draft2020_12().with(|it| it.definitions_path = "/components/schemas".into());
    let mut generator = settings.into_generator();
    let mut paths: Map<String, Value> = Map::new();
    for route in routes.iter().filter(|route| route.shape.gives.is_some()) {
        let operation = operation(route, &mut generator);
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method.as_str().to_lowercase()] = operation;
    }
    let schemas = generator.take_definitions(true);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Groundcrew review desk",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Who asks sends a token (Authorization: Bearer TOKEN) that `groundcrew token add` made.",
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
        },
    })
}

fn operation(route: &Route, generator: &mut SchemaGenerator) -> Value {
    let content = |schema: &Schema| json!({ "application/json": { "schema": schema } });
    let mut parameters: Vec<Value> = route
        .path
        .split('/')
        .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
        .map(|name| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } }))
        .collect();
    if let Some(describe) = route.shape.query {
        let schema = describe(generator);
        let properties = schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
        parameters.extend(properties.into_iter().map(|(name, mut schema)| {
            let about = schema.as_object_mut().and_then(|schema| schema.remove("description"));
            json!({ "name": name, "in": "query", "required": false, "description": about, "schema": schema })
        }));
    }
    let role = match route.least {
        Least::Public => "everybody",
        Least::Role(Role::Viewer) => "viewer",
        Least::Role(Role::Reviewer) => "reviewer",
        Least::Role(Role::Admin) => "admin",
        Least::Role(Role::Gate) => "gate",
    };
    let given = route.shape.gives.map(|describe| content(&describe(generator)));
    let mut operation = json!({
        "summary": route.about,
        "description": format!("Least role: {role}."),
        "parameters": parameters,
        "responses": {
            "200": { "description": "done", "content": given },
            "default": {
                "description": "refused",
                "content": { "application/json": { "schema": error_schema() } },
            },
        },
    });
    if let Some(describe) = route.shape.takes {
        operation["requestBody"] = json!({ "required": true, "content": content(&describe(generator)) });
    }
    if route.least != Least::Public {
        operation["security"] = json!([{ "token": [] }]);
    }
    operation
}

fn error_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "error": {
                "type": "object",
                "properties": {
                    "code": { "type": "string", "description": "A word for programs." },
                    "message": { "type": "string" },
                    "problems": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": { "path": { "type": "string" }, "message": { "type": "string" } },
                        },
                    },
                },
                "required": ["code", "message"],
            },
        },
        "required": ["error"],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_of_the_description_leads_somewhere() {
        let description = describe(&crate::routes::all());
        let text = description.to_string();
        let mut references = 0;
        for part in text.split("\"$ref\":\"#").skip(1) {
            let pointer = part.split('"').next().unwrap();
            assert!(description.pointer(pointer).is_some(), "{pointer}");
            references += 1;
        }
        assert!(references > 10, "{references}");
        let rule = &description["paths"]["/api/v1/review/items/{id}/rulings"]["post"];
        assert_eq!(rule["parameters"][0]["name"], "id");
        assert!(rule["requestBody"].is_object());
    }
}
