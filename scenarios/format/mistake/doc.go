// Package mistake finds what is likely to be wrong with Kubernetes objects and scenarios that are in order each by itself: what an API
// server refuses because of another object, and what kube-proxy passes over in silence.
//
// It stands beside the runner of scenarios: it reads what package scenarios and package manifest have read, and it looks at no rules.
// What it finds is a warning to those who run a scenario, since a scenario may be about it; such a one names the kind in its field
// mistakes. What can be seen in one object alone and no API server takes is refused when it is read, by package manifest.
package mistake
