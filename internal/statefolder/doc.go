// Package statefolder keeps the state that tools leave for the next tool in a folder: one file for each part, replaced as a whole, with a
// head line that has the version of the format, the length and a checksum. Tools of the same folder wait for one another on a lock.
//
// The package does not read the parts. It does not work on systems without flock.
package statefolder
