/**
 * Runs what a project does with the package, one part after the other, and prints how each ended: `<part>: ok`, or
 * what it returned instead, or its error. A part that fails keeps none of the others from running.
 */
exports.runParts = async function runParts(parts) {
  for (const [name, part] of Object.entries(parts)) {
    try {
      console.log(`${name}: ${(await part()) ?? 'ok'}`);
    } catch (error) {
      console.log(`${name}: ${error?.stack ?? error}`);
    }
  }
};
