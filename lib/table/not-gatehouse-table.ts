/** The table is not one of Gatehouse's: its keys are others, or it has no roster of administrators. */
export class NotGatehouseTable extends Error {}
