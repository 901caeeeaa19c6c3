#!/usr/bin/env node
import { processIo } from './io.js';
import { main } from './main.js';

const io = processIo();
const exitCode = await main(process.argv.slice(2), io);
process.exitCode = exitCode;
// Otherwise the process ends by itself: what was written to a pipe may not have arrived yet.
if (io.signal.aborted) process.exit(exitCode);
