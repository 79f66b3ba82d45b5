// Package document reads YAML and JSON strictly into Go types with json tags, gives the place of every mistake, and writes such values.
//
// It stands beside the project's line: it reads scenarios, Kubernetes objects (scenarios/format/manifest), node snapshots
// (packetsim/snapshot) and cases of the differential (kindtest/onkernel/differ), and imports no package of the project. Parse splits a text
// into documents, a Decoder fills Go values from them and collects what is wrong, with file, line, column and what to do about it: unknown
// and duplicate fields, values of the wrong type, words that a field does not take (the tag enum), fields that are missing (the tag
// required). A type that has several spellings reads itself as an Unmarshaler; a type that needs its position embeds Located. Nothing is
// dropped silently.
//
// Rules has the differences between kinds of documents: the form of a plain value or a string, whether there are aliases and bounds, and
// the words for a mistake. YAML and JSON write a value so that it is read back.
//
// Open also takes files with gzip or in UTF-16.
//
// Refused by design: YAML merge keys, input that is not text, documents nested deeper than any API object, aliases that multiply a document
// beyond a bound, and, unless the Rules allow them, lines and inputs of absurd length.
package document
