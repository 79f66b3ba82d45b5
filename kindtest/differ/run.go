package differ

// toolRun is what one run of a tool gave.
type toolRun struct {
	Stdout string `json:"stdout,omitempty"`
	Stderr string `json:"stderr,omitempty"`
	Status int    `json:"status,omitempty"`
}
