// Package dumps holds recordings of the nodes of real clusters, for the tests of every package: the files are beside this one, and
// README.md says where they come from.
//
// It stands beside the line, and imports nothing of the project. Only tests may
// import it, so that no program carries the recordings. Programs that show them to
// users read the files.
package dumps
