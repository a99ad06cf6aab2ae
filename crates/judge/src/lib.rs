//! LLM judges over HTTP: one call, its limits and its failure class.
