/* Separate from the scanner, so that a command can read its arguments before the AWS SDK loads. */

/**
 * The table is not one of Gatehouse's: its keys are others, or it has no roster of administrators.
 */
export class NotGatehouseTable extends Error {}
