package ailments

import "github.com/chainwalk/chainwalk/scenarios/users/live"

// Healthy is a ward in which nothing is wrong, however it may look.
type Healthy struct {
	Name string
	Options
	// Objects changes what the API server has before kube-proxy reads it.
	Objects func(Objects)
	// Present are command lines of what is there besides (Ward.Run). kube-proxy has put its jumps first, as it does, when they run.
	Present []string
	// Tries are connections beside those that every ward promises, and Without are targets that this one does not serve.
	Tries   []Try
	Without []string
	// Seen changes what is known of the ward from outside.
	Seen func(*live.Cluster)
}

// Checkup is what became of a healthy ward.
type Checkup struct {
	// Connections is how many were made.
	Connections int
	// Wrong lists the connections that did not end as the objects promise.
	Wrong []string
	// No are the answers of why that say no.
	No []string
	// Report is what doctor said, and Findings how much it found.
	Report   string
	Findings int
}
