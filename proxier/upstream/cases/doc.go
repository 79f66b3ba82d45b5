// Package cases holds what two proxiers are given: settings, objects and the
// order of events. A Case is a YAML file and says all that is needed to see a
// difference again.
package cases
