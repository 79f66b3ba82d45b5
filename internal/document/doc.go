// Package document reads YAML and JSON strictly into Go types with json tags, says of every mistake where it is, and writes what it reads.
//
// It stands beside the project's line: scenarios, Kubernetes objects (scenarios/format/manifest), node snapshots (packetsim/snapshot) and
// cases of the differential (kindtest/onkernel/differ) are read by it. It knows none of them and imports no package of the project. Parse
// splits a text into documents, a Decoder fills Go values from them and collects what is wrong, with file, line, column and what to do
// about it: unknown and duplicate fields, values of the wrong type, words that a field does not take (the tag enum), fields that are
// missing (the tag required). A type that has several spellings reads itself as an Unmarshaler; one that wants to know where it was
// written embeds Located. Nothing is dropped in silence.
//
// What kinds of documents see differently is in Rules: what a plain value or a string may look like, whether there are aliases and bounds,
// and the words for a mistake. YAML and JSON write a value so that it is read back.
//
// Open also takes what people hand on: gzip, UTF-16.
//
// Refused by design: YAML merge keys, input that is not text, documents nested deeper than any API object, aliases that multiply a document
// beyond a bound, and, unless the Rules allow them, lines and inputs of absurd length.
package document
