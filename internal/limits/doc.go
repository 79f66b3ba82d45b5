// Package limits has no code. Its test limits the length of a file of this repository, the methods of a type, and the files of a folder.
package limits
