// Package cases has the input of two proxiers: settings, objects and the order of events. A Case is a YAML file and has everything that is
// needed to see a difference again.
package cases
