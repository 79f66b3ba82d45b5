package differ

// toolRun is what one run of a tool gave.
type toolRun struct {
	Stdout string `yaml:"stdout,omitempty"`
	Stderr string `yaml:"stderr,omitempty"`
	Status int    `yaml:"status,omitempty"`
}
