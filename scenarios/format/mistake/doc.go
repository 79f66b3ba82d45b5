// Package mistake finds likely mistakes in Kubernetes objects and scenarios that are each valid by themselves: what an API
// server refuses because of another object, and what kube-proxy silently ignores.
//
// It stands beside the runner of scenarios. It uses what package scenarios and package manifest have read, and no rules.
// A mistake is only a warning when a scenario runs, since a scenario may contain it on purpose; such a scenario names the kind in its field
// mistakes. Package manifest refuses what is wrong in a single object.
package mistake
