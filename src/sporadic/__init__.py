from sporadic.panel import Panel
