// Package fuzz searches for failures: it lets the oracle judge generated scenarios,
// many at the same time, shrinks each failure and writes it as an ordinary
// scenario file, which runs on every backend.
//
// It stands over scenarios/search/gen, which makes the cases, and scenarios/search/trial, which
// judges them, and joins what several processes found (Merge). The cases are
// numbered; a seed and a number are a case, whatever else a run does, so the same
// seed, shard and number of runs come to the same Result.
package fuzz
