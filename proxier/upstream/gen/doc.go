// Package gen makes cases from a seed: settings of every kind, objects that an
// API server could hold and that reach every branch of a proxier, and
// sequences of changes to them. The same seed makes the same cases.
package gen
