import type { Settings } from '../../settings/settings.ts';
import type { DeployedStack } from './deployed.ts';

/**
 * A condition, what is wrong if it is true and why that matters, and what an operator does then. A
 * warning leaves the environment ready.
 */
export type Row = readonly [
  isWrong: boolean,
  problem: string,
  remedy: string,
  severity?: 'warning',
];

/** The environment to check, in one of its regions. */
export interface Target {
  readonly environment: string;
  readonly settings: Settings;
  readonly region: string;
  /** The name of the stack of the environment in this region. */
  readonly name: string;
  /** Reads this stack, once for all checks. */
  readonly stack: () => Promise<DeployedStack | undefined>;
}

/** The first row that is wrong, which hides those after it. */
export const firstWrong = (rows: readonly Row[]): Row | undefined =>
  rows.find(([isWrong]) => isWrong);
