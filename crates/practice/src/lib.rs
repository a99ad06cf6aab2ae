//! The practice judge: an OpenAI-compatible server without a model.
