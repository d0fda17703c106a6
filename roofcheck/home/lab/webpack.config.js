// By default the number of a module follows from the path of the folder, so that two clones would
// build different files.
module.exports = { optimization: { moduleIds: 'natural' } };
