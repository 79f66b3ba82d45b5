// Package raw has the packets that no socket sends: crafts them, puts them on devices, and knows them again wherever they are seen,
// whatever was translated on the way. It is what the backends on real kernels share.
package raw
