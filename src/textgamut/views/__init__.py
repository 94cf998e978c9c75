"""What reads finished results: plans, states of papers, pages, exports."""
