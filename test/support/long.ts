/** Whether there is time: `LONG=1 npm test` tries every row under every fault and crash, lists too long to read, and mutants. */
export const LONG = process.env.LONG === '1';
