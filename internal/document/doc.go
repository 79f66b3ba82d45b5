// Package document reads YAML and JSON strictly into Go types with json tags, and says of every mistake where it is.
//
// It stands beside the project's line: scenarios and Kubernetes objects (scenarios, scenarios/manifest) are read by it, as is every other
// document that a user writes. It knows no Kubernetes and imports no package of the project. Parse splits a text into documents, a Decoder
// fills Go values from them and collects what is wrong, with file, line, column and what to do about it: unknown and duplicate fields,
// values of the wrong type, words that a field does not take (the tag enum), fields that are missing (the tag required). A type that has
// several spellings reads itself as an Unmarshaler; one that wants to know where it was written embeds Located. Nothing is dropped in silence.
//
// Refused by design: YAML merge keys, input that is not text, lines and inputs of absurd length, documents nested deeper than any API
// object, and aliases that multiply a document beyond a bound.
package document
