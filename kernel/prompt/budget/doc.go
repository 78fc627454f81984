// Package budget makes a request fit the model it goes to (seed: turn-pipeline.txt §3.2, "strip unsupported pictures → replay
// the per-run context ledger → elide older tool data → collapse older complete tool steps into deterministic digests →
// applyBudget history pruning → head/tail truncation"). It changes only the copy that is sent; the conversation, traces and
// saved states keep everything. What was once made shorter in a run stays shorter in its later requests, so that the prefix a
// provider has cached stays the same.
package budget
