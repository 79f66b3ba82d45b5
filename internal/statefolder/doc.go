// Package statefolder keeps what tools leave for the next tool in a folder: one file for each part, replaced as a whole, with a head line
// that has the version of the format, the length and a checksum. Tools of the same folder wait for one another on a lock.
//
// It does not know what the parts say. It does not work on systems without flock.
package statefolder
