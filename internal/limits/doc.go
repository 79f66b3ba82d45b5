// Package limits has no code. Its test holds how long a file of this repository may be, how many methods a type may have, and how many
// files a folder.
package limits
