/** The tolerated difference between the clocks of two machines. */
export const CLOCK_SKEW_SECONDS = 60;
