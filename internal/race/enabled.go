//go:build race

package race

// Enabled says whether the race detector is in this build.
const Enabled = true
