// Package fuzz looks for failures: it has generated scenarios judged by the
// oracle, many at the same time, makes each failure small and says it as an ordinary
// scenario file, which replays on every backend.
//
// It stands over scenarios/search/gen, which makes the cases, and scenarios/search/trial, which
// judges them, and joins what several processes found (Merge). The cases are
// numbered; a seed and a number are a case, whatever else a run does, so the same
// seed, shard and number of runs come to the same Result.
package fuzz
