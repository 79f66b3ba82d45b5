// Package persist has a map and a list of which many versions live at once. An edit shares everything that it does not change with the
// version before, so its cost depends on the size of the change, not on the size of the map or list.
package persist
