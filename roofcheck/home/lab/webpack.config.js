// By default, module ids depend on the folder's path, so two clones would build different files.
module.exports = { optimization: { moduleIds: 'natural' } };
