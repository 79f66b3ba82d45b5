// Package persist has a map and a list of which many versions live at once: an edit shares with what it came from all that it does not
// change, so it costs by what it changes, whatever the size.
package persist
